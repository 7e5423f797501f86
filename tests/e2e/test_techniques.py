"""Techniques chosen through both SDKs: by header, by body and by the model's name."""

from __future__ import annotations

import json
from collections.abc import Callable

import anthropic
import openai
import pytest

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.e2e.turns import MODELS, Turn, streamed, whole
from tests.fakes import script
from tests.fakes.script import Answer
from tests.fakes.upstream import Asked

ASKED: list[Json] = [{"role": "user", "content": "What is 17 * 23?"}]
TECHNIQUES = (
    "baseline",
    "self_consistency",
    "best_of_n",
    "weighted_bon",
    "cisc",
    "diversity_sc",
    "diversity_sc_N",
    "diversity_mrc_discrete_N",
    "diversity_mrc_discrete_N_soft",
    "self_refine",
    "harq_ir",
    "turbo",
    "chain_of_verification",
    "fec_0.75",
    "fec_0.50",
    "fec_0.33",
    "fec_0.25",
)
VOTE = {"x-lockgate-technique": "self_consistency", "x-lockgate-params": '{"num_samples": 3}'}


def agreeing(model: str) -> Callable[[Asked], Answer]:
    """Answer every call alike, as it asks to be answered."""
    turn = Turn(parts=("The answer ", "is 391."))
    return lambda asked: (streamed if asked.body.get("stream") else whole)(model, turn)


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_every_technique_answers_a_chat_client(scene: Scene, technique: str) -> None:
    raw = scene.chat.chat.completions.with_raw_response.create(
        model="sim-small", messages=ASKED, extra_headers={"x-lockgate-technique": technique}
    )

    answer = raw.parse()
    assert answer.choices[0].message.content
    assert answer.usage is not None
    total = answer.usage.to_dict()["lockgate"]
    assert isinstance(total, dict)
    assert raw.headers["x-lockgate-technique"] == technique
    assert raw.headers["x-lockgate-calls"] == str(total["calls"])
    assert raw.headers["x-lockgate-cost-usd"] == total["cost_usd"]
    assert raw.headers["x-lockgate-request-id"] == answer._request_id


@pytest.mark.parametrize("technique", [name for name in TECHNIQUES if "diversity" in name])
def test_several_models_draw_where_channels_names_them(scene: Scene, technique: str) -> None:
    raw = scene.chat.chat.completions.with_raw_response.create(
        model="sim-small",
        messages=ASKED,
        extra_headers={"x-lockgate-technique": technique, "x-lockgate-channels": "sim-large"},
    )

    warnings = raw.headers.get("x-lockgate-warnings", "")
    assert "one_model" not in warnings
    assert "technique_masked" not in warnings
    assert int(raw.headers["x-lockgate-calls"]) > 1


def test_selection_among_one_model_is_a_plain_call_that_says_why(scene: Scene) -> None:
    raw = scene.chat.chat.completions.with_raw_response.create(
        model="sim-small",
        messages=ASKED,
        extra_headers={"x-lockgate-technique": "diversity_sc"},
    )

    assert "technique_masked" in raw.headers["x-lockgate-warnings"]
    assert raw.headers["x-lockgate-calls"] == "1"


def test_selection_among_one_model_is_refused_where_the_client_is_strict(scene: Scene) -> None:
    wanted = {"x-lockgate-technique": "diversity_sc", "x-lockgate-strict": "1"}
    with pytest.raises(openai.BadRequestError) as caught:
        scene.chat.chat.completions.create(model="sim-small", messages=ASKED, extra_headers=wanted)

    assert caught.value.code == "technique_masked"


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_every_technique_answers_a_messages_client_in_events(scene: Scene, technique: str) -> None:
    with scene.messages.messages.stream(
        model="sim-small",
        max_tokens=400,
        messages=ASKED,
        extra_headers={"x-lockgate-technique": technique},
    ) as stream:
        usages = [event.usage.to_dict() for event in stream if event.type == "message_delta"]
        text = stream.get_final_text()

    [usage] = usages
    total: Json = usage["lockgate"]
    assert text
    assert total["calls"] >= 1
    assert total["output_tokens"] >= stream.get_final_message().usage.output_tokens


@pytest.mark.parametrize("model", MODELS)
def test_a_header_a_body_and_a_name_choose_alike(scene: Scene, model: str) -> None:
    scene.upstream.chooses(agreeing(model))
    wished = {"technique": "self_consistency", "params": {"num_samples": 3}}
    ways: list[dict[str, Json]] = [
        {"model": model, "extra_headers": VOTE},
        {"model": model, "extra_body": {"reliability": wished}},
        {
            "model": f"self_consistency/{model}",
            "extra_headers": {"x-lockgate-params": '{"num_samples": 3}'},
        },
    ]

    for way in ways:
        scene.upstream.asked.clear()
        chat = scene.chat.chat.completions.with_raw_response.create(messages=ASKED, **way)
        message = scene.messages.messages.with_raw_response.create(
            messages=ASKED, max_tokens=99, **way
        )

        assert chat.headers["x-lockgate-technique"] == "self_consistency"
        assert message.headers["x-lockgate-technique"] == "self_consistency"
        assert chat.parse().choices[0].message.content == "The answer is 391."
        assert [b.text for b in message.parse().content if b.type == "text"] == [
            "The answer is 391."
        ]
        calls = int(chat.headers["x-lockgate-calls"]) + int(message.headers["x-lockgate-calls"])
        assert len(scene.upstream.asked) == calls > 2
        assert all("reliability" not in asked.body for asked in scene.upstream.asked)
        assert all(
            not name.startswith("x-lockgate") for a in scene.upstream.asked for name, _ in a.headers
        )


@pytest.mark.parametrize("model", MODELS)
def test_a_vote_streams_what_it_answers_whole(scene: Scene, model: str) -> None:
    scene.upstream.chooses(agreeing(model))

    answer = scene.chat.chat.completions.create(model=model, messages=ASKED, extra_headers=VOTE)
    with scene.chat.chat.completions.stream(
        model=model, messages=ASKED, extra_headers=VOTE, stream_options={"include_usage": True}
    ) as stream:
        folded = stream.get_final_completion()

    assert folded.choices[0].message.content == answer.choices[0].message.content
    assert folded.choices[0].finish_reason == answer.choices[0].finish_reason == "stop"
    assert folded.usage is not None
    assert answer.usage is not None
    assert folded.usage.to_dict() == answer.usage.to_dict()


def test_a_stream_tells_at_its_end_what_a_whole_answer_tells_in_headers(scene: Scene) -> None:
    with scene.chat.chat.completions.with_streaming_response.create(
        model="sim-small", messages=ASKED, stream=True, extra_headers=VOTE
    ) as response:
        lines = list(response.iter_lines())

    [told] = [line for line in lines if line.startswith(": lockgate ")]
    trailer = json.loads(told.removeprefix(": lockgate "))
    assert trailer["technique"] == "self_consistency"
    assert trailer["request_id"] == response.headers["x-lockgate-request-id"]
    assert trailer["calls"] >= 2
    assert [line for line in lines if line][-1] == "data: [DONE]"


def test_a_technique_that_is_not_there_is_named(scene: Scene) -> None:
    wish = {"x-lockgate-technique": "crystal_ball"}

    with pytest.raises(openai.BadRequestError, match="crystal_ball"):
        scene.chat.chat.completions.create(model="oa-model", messages=ASKED, extra_headers=wish)
    with pytest.raises(anthropic.BadRequestError, match="crystal_ball"):
        scene.messages.messages.create(
            model="oa-model", max_tokens=9, messages=ASKED, extra_headers=wish
        )


async def test_the_asynchronous_clients_choose_techniques(scene: Scene) -> None:
    async with scene.async_chat() as chat, scene.async_messages() as messages:
        raw = await chat.chat.completions.with_raw_response.create(
            model="sim-large", messages=ASKED, extra_headers=VOTE
        )
        async with messages.messages.stream(
            model="best_of_n/sim-large", max_tokens=400, messages=ASKED
        ) as stream:
            text = await stream.get_final_text()

    assert raw.headers["x-lockgate-technique"] == "self_consistency"
    assert raw.parse().choices[0].message.content
    assert text


@pytest.mark.parametrize("model", MODELS)
def test_a_run_that_loses_every_call_raises(scene: Scene, model: str) -> None:

    scene.upstream.chooses(lambda _asked: script.error(500))

    with pytest.raises(openai.InternalServerError):
        scene.chat.chat.completions.create(
            model=model, messages=ASKED, stream=True, extra_headers=VOTE
        )
    with pytest.raises(anthropic.InternalServerError):
        scene.messages.messages.create(
            model=model, max_tokens=9, messages=ASKED, stream=True, extra_headers=VOTE
        )
