"""Both SDKs look into a technique at work: it is shown to them, and the answer is as it was."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.e2e.turns import MODELS, Turn, streamed, whole
from tests.fakes.script import Answer
from tests.fakes.upstream import Asked

ASKED: list[Json] = [{"role": "user", "content": "What is 17 * 23?"}]
TECHNIQUES = ("self_consistency", "best_of_n")
DRAFT = "[Lockgate: the best answer so far]"
SAID = "The answer is 391."
THOUGHT = "Seventeen times twenty."
SIGNED = Turn().signature

every_technique = pytest.mark.parametrize("technique", TECHNIQUES)
every_model = pytest.mark.parametrize("model", MODELS)
every_view = pytest.mark.parametrize("view", ["final", "trace", "optimistic"])


def wishes(technique: str, view: str) -> dict[str, str]:
    params = {"num_samples": 3, **({"stop_at": 1.0} if technique == "best_of_n" else {})}
    return {
        "x-lockgate-technique": technique,
        "x-lockgate-params": json.dumps(params),
        "x-lockgate-expose": view,
    }


def answering(model: str) -> Callable[[Asked], Answer]:
    """Answer every call alike, in the form that it asks for."""
    turn = Turn(parts=("The answer ", "is 391."), thought=THOUGHT)
    return lambda asked: (streamed if asked.body.get("stream") else whole)(model, turn)


@every_technique
@every_model
@every_view
def test_a_chat_clients_content_is_the_answer_alone(
    scene: Scene, technique: str, model: str, view: str
) -> None:
    scene.upstream.chooses(answering(model))
    headers = wishes(technique, view)

    whole_answer = scene.chat.chat.completions.create(
        model=model, messages=ASKED, extra_headers=headers
    )
    with scene.chat.chat.completions.stream(
        model=model, messages=ASKED, extra_headers=headers
    ) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        folded = stream.get_final_completion()

    for message in (whole_answer.choices[0].message, folded.choices[0].message):
        assert message.content == SAID
    assert "".join(deltas) == SAID
    assert folded.choices[0].finish_reason == "stop"


@every_technique
@every_model
@every_view
def test_a_messages_clients_text_is_the_answer_alone(
    scene: Scene, technique: str, model: str, view: str
) -> None:
    scene.upstream.chooses(answering(model))
    headers = wishes(technique, view)

    answer = scene.messages.messages.create(
        model=model, max_tokens=99, messages=ASKED, extra_headers=headers
    )
    with scene.messages.messages.stream(
        model=model, max_tokens=99, messages=ASKED, extra_headers=headers
    ) as stream:
        text = "".join(stream.text_stream)
        folded = stream.get_final_message()

    assert text == SAID
    for message in (answer, folded):
        assert [block.text for block in message.content if block.type == "text"] == [SAID]
        assert message.stop_reason == "end_turn"


@every_technique
@every_model
def test_a_chat_client_reads_a_trace_in_the_deltas(
    scene: Scene, technique: str, model: str
) -> None:
    scene.upstream.chooses(answering(model))

    with scene.chat.chat.completions.create(
        model=model, messages=ASKED, stream=True, extra_headers=wishes(technique, "trace")
    ) as stream:
        deltas = [chunk.choices[0].delta.to_dict() for chunk in stream if chunk.choices]

    pieces: list[Json] = [delta["lockgate"] for delta in deltas if "lockgate" in delta]
    first = [piece for piece in pieces if piece["step"] == "c0"]
    assert {piece["model"] for piece in pieces} == {model}
    assert "".join(piece["text"] for piece in first if piece["kind"] == "text") == SAID
    assert "".join(piece["text"] for piece in first if piece["kind"] == "thinking") == THOUGHT
    roles = {piece["role"] for piece in pieces}
    assert roles == ({"candidate"} if technique == "self_consistency" else {"candidate", "judge"})


@every_technique
@every_model
def test_a_messages_client_reads_a_trace_in_the_comments(
    scene: Scene, technique: str, model: str
) -> None:
    scene.upstream.chooses(answering(model))

    with scene.messages.messages.with_streaming_response.create(
        model=model,
        max_tokens=99,
        messages=ASKED,
        stream=True,
        extra_headers=wishes(technique, "trace"),
    ) as response:
        lines = list(response.iter_lines())

    told = [line.removeprefix(": trace ") for line in lines if line.startswith(": trace ")]
    pieces = [json.loads(line) for line in told]
    first = [piece["text"] for piece in pieces if piece["step"] == "c0" and piece["kind"] == "text"]
    assert "".join(first) == SAID
    assert any(line.startswith(": progress ") for line in lines)


@every_model
def test_a_whole_answers_trace_is_an_extra_field_in_both_sdks(scene: Scene, model: str) -> None:
    scene.upstream.chooses(answering(model))
    headers = wishes("best_of_n", "trace")

    chat = scene.chat.chat.completions.create(model=model, messages=ASKED, extra_headers=headers)
    message = scene.messages.messages.create(
        model=model, max_tokens=99, messages=ASKED, extra_headers=headers
    )

    for told in (chat.to_dict()["lockgate"], message.to_dict()["lockgate"]):
        assert isinstance(told, dict)
        pieces: Json = told["trace"]
        assert {piece["role"] for piece in pieces} == {"candidate", "judge"}
        assert [p["text"] for p in pieces if (p["step"], p["kind"]) == ("c0", "text")] == [SAID]


@every_model
def test_a_draft_that_a_messages_client_was_shown_does_not_go_upstream(
    scene: Scene, model: str
) -> None:
    """Neither in a plain turn nor in one with a technique, and no thinking without a signature."""
    scene.upstream.chooses(answering(model))
    with scene.messages.messages.stream(
        model=model,
        max_tokens=99,
        messages=ASKED,
        extra_headers=wishes("best_of_n", "optimistic"),
    ) as stream:
        said = [block.to_dict() for block in stream.get_final_message().content]
    assert DRAFT in json.dumps(said)
    turns: list[Json] = [
        *ASKED,
        {"role": "assistant", "content": said},
        {"role": "user", "content": "Are you sure?"},
    ]

    for view in ({}, wishes("best_of_n", "optimistic")):
        scene.upstream.asked.clear()
        with scene.messages.messages.stream(
            model=model, max_tokens=99, messages=turns, extra_headers=view
        ) as stream:
            assert stream.get_final_text() == SAID

        assert scene.upstream.asked
        for asked in scene.upstream.asked:
            assert DRAFT not in asked.raw.decode()
            assert SAID in asked.raw.decode()
            assert all(block["signature"] == SIGNED for block in thoughts(asked))


def thoughts(asked: Asked) -> list[Json]:
    if "input" in asked.body:
        items = [item for item in asked.body["input"] if item["type"] == "reasoning"]
        return [{"signature": item["encrypted_content"]} for item in items]
    contents = [turn["content"] for turn in asked.body["messages"]]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return [block for block in blocks if block["type"] == "thinking"]


@every_model
def test_a_draft_that_a_chat_client_was_shown_does_not_go_upstream(
    scene: Scene, model: str
) -> None:
    scene.upstream.chooses(answering(model))
    with scene.chat.chat.completions.stream(
        model=model, messages=ASKED, extra_headers=wishes("best_of_n", "optimistic")
    ) as stream:
        message = stream.get_final_completion().choices[0].message.to_dict()
    reasoning = str(message["reasoning_content"])
    assert reasoning.startswith(DRAFT)
    assert reasoning.endswith(THOUGHT)
    turns: list[Json] = [
        *ASKED,
        {"role": "assistant", "content": SAID, "reasoning_content": reasoning},
        {"role": "user", "content": "Are you sure?"},
    ]
    scene.upstream.asked.clear()

    answer = scene.chat.chat.completions.create(model=model, messages=turns)

    assert answer.choices[0].message.content == SAID
    [asked] = scene.upstream.asked
    assert DRAFT not in asked.raw.decode()
    if model == "oa-model":
        assert asked.body["messages"][1]["reasoning_content"] == THOUGHT


@every_technique
@every_model
def test_usage_may_count_all_calls_in_both_sdks(scene: Scene, technique: str, model: str) -> None:
    scene.upstream.chooses(answering(model))
    headers = {**wishes(technique, "final"), "x-lockgate-usage-mode": "total"}

    chat = scene.chat.chat.completions.create(model=model, messages=ASKED, extra_headers=headers)
    message = scene.messages.messages.create(
        model=model, max_tokens=99, messages=ASKED, extra_headers=headers
    )
    with scene.messages.messages.stream(
        model=model, max_tokens=99, messages=ASKED, extra_headers=headers
    ) as stream:
        streamed_usage = stream.get_final_message().usage

    assert chat.usage is not None
    beside: Json = chat.usage.to_dict()["lockgate"]
    assert chat.usage.completion_tokens == 4 * beside["calls"] > 4
    assert beside["completion_tokens"] == 4
    beside = message.usage.to_dict()["lockgate"]
    assert message.usage.output_tokens == 4 * beside["calls"] > 4
    assert streamed_usage.output_tokens == message.usage.output_tokens
