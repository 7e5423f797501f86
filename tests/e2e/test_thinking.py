"""Thinking: blocks and signatures through a loop of tools, reasoning beside a completion.

And the wish for it, from either SDK to backends that take it in words of their own.
"""

from __future__ import annotations

import pytest

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.e2e.test_tools import MESSAGE_TOOLS
from tests.e2e.turns import MODELS, Called, Turn, streamed, whole
from tests.fakes import script
from tests.fakes.script import Answer
from tests.fakes.upstream import Asked

ASKED: list[Json] = [{"role": "user", "content": "What time is it?"}]
THOUGHT = Turn(
    parts=("Let me see.",),
    calls=(Called("call_b2", "now", "{}"),),
    thought="The clock \u2028 will know.",
    signature="EqQBCkYIBxgCKkAx/++yQ==",
)
ANSWER = Turn(parts=("Noon.",), thought="It said 12.", signature="c2Vjb25k")
ON: Json = {"type": "enabled", "budget_tokens": 1024}


def test_reasoning_of_a_responses_provider_comes_back_to_it_and_to_nobody_else(
    scene: Scene,
) -> None:
    """Its signature tells, to a client and back, whose it is."""
    scene.upstream.plays(*(whole(m, THOUGHT) for m in ("rs-model", "rs-model", "an-model")))
    asked: Json = {"max_tokens": 2048, "tools": MESSAGE_TOOLS}
    said = scene.messages.messages.create(model="rs-model", messages=ASKED, thinking=ON, **asked)
    blocks = [block.to_dict() for block in said.content]
    result: Json = {"type": "tool_result", "tool_use_id": "call_b2", "content": "12:00"}
    turns: list[Json] = [
        *ASKED,
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": [result]},
    ]

    scene.messages.messages.create(model="rs-model", messages=turns, thinking=ON, **asked)
    scene.messages.messages.create(model="an-model", messages=turns, **asked)

    first, own, other = (one.body for one in scene.upstream.asked)
    assert first["reasoning"] == {"effort": "low", "summary": "auto"}
    assert "reasoning.encrypted_content" in first["include"]
    assert own["input"][1] == {
        "type": "reasoning",
        "id": "rs_77",
        "summary": [{"type": "summary_text", "text": THOUGHT.thought}],
        "encrypted_content": THOUGHT.signature,
    }
    assert [block["type"] for block in other["messages"][1]["content"]] == ["text", "tool_use"]


@pytest.mark.parametrize("stream", [False, True])
def test_thinking_and_its_signature_come_back_byte_for_byte(scene: Scene, stream: bool) -> None:  # noqa: FBT001
    play = streamed if stream else whole
    scene.upstream.plays(play("an-model", THOUGHT), play("an-model", ANSWER))
    turns = list(ASKED)

    said = _asked(scene, turns, stream=stream)
    turns.append({"role": "assistant", "content": said})
    result: Json = {"type": "tool_result", "tool_use_id": "call_b2", "content": "12:00"}
    turns.append({"role": "user", "content": [result]})
    last = _asked(scene, turns, stream=stream)

    thinking: Json = {
        "type": "thinking",
        "thinking": THOUGHT.thought,
        "signature": THOUGHT.signature,
    }
    assert said[0] == thinking
    again = scene.upstream.asked[1].body
    assert again["messages"][1]["content"][0] == thinking
    assert again["thinking"] == ON
    assert [block["type"] for block in last] == ["thinking", "text"]


def _asked(scene: Scene, turns: list[Json], *, stream: bool) -> list[Json]:
    """Return the blocks of the answer, as a client sends them back."""
    asked: Json = {
        "model": "an-model",
        "max_tokens": 2048,
        "messages": turns,
        "thinking": ON,
        "tools": MESSAGE_TOOLS,
    }
    if not stream:
        answer = scene.messages.messages.create(**asked)
        return [block.to_dict() for block in answer.content]
    with scene.messages.messages.stream(**asked) as events:
        return [block.to_dict() for block in events.get_final_message().content]


def test_redacted_thinking_passes(scene: Scene) -> None:
    blocks: list[Json] = [
        {"type": "redacted_thinking", "data": "RW5jcnlwdGVk+/=="},
        {"type": "text", "text": "Noon."},
    ]
    scene.upstream.plays(script.message(blocks))

    answer = scene.messages.messages.create(
        model="an-model", max_tokens=2048, messages=ASKED, thinking=ON
    )

    assert answer.content[0].to_dict() == blocks[0]


@pytest.mark.parametrize("model", MODELS)
def test_a_chat_client_sees_reasoning_beside_the_answer(scene: Scene, model: str) -> None:
    scene.upstream.plays(whole(model, ANSWER), streamed(model, ANSWER))

    answer = scene.chat.chat.completions.create(model=model, messages=ASKED)
    with scene.chat.chat.completions.create(model=model, messages=ASKED, stream=True) as stream:
        deltas = [chunk.choices[0].delta for chunk in stream]

    message = answer.choices[0].message
    assert message.content == ANSWER.text
    assert message.to_dict()["reasoning_content"] == ANSWER.thought
    spoken = [delta.to_dict().get("reasoning_content") or "" for delta in deltas]
    assert "".join(map(str, spoken)) == ANSWER.thought
    assert "".join(delta.content or "" for delta in deltas) == ANSWER.text


def test_a_messages_client_sees_reasoning_as_a_block_without_a_made_up_signature(
    scene: Scene,
) -> None:
    scene.upstream.plays(whole("oa-model", ANSWER), streamed("oa-model", ANSWER))

    answer = scene.messages.messages.create(model="oa-model", max_tokens=99, messages=ASKED)
    with scene.messages.messages.stream(model="oa-model", max_tokens=99, messages=ASKED) as stream:
        folded = stream.get_final_message()

    for message in (answer, folded):
        thinking, text = message.content
        assert thinking.type == "thinking"
        assert (thinking.thinking, thinking.signature) == (ANSWER.thought, "")
        assert text.type == "text"
        assert text.text == ANSWER.text


def test_an_effort_becomes_a_wish_to_think(scene: Scene) -> None:
    scene.upstream.plays(whole("an-model", ANSWER))

    scene.chat.chat.completions.create(
        model="an-model", messages=ASKED, reasoning_effort="high", max_completion_tokens=9000
    )

    body = scene.upstream.asked[0].body
    assert body.get("thinking") or body.get("output_config", {}).get("effort"), body


INLINE = Turn(parts=("<thi", "nk>It said 12.</th", "ink>", "Noon."))
VOTE = {"x-lockgate-technique": "best_of_n", "x-lockgate-params": '{"num_samples": 2}'}
QUIET: Json = {"enable_thinking": False}
SCORES = '{"checks": {"facts": "yes"}}'


def test_a_messages_client_makes_a_model_think_that_has_a_switch_and_tags(scene: Scene) -> None:
    scene.upstream.plays(whole("oa", INLINE), streamed("oa", INLINE))
    asked: Json = {"model": "oa-hybrid", "max_tokens": 3000, "messages": ASKED, "thinking": ON}

    answer = scene.messages.messages.create(**asked)
    with scene.messages.messages.stream(**asked) as stream:
        folded = stream.get_final_message()

    for message in (answer, folded):
        thinking, text = message.content
        assert (thinking.type, text.type) == ("thinking", "text")
        assert thinking.to_dict()["thinking"] == "It said 12."
        assert text.to_dict()["text"] == "Noon."
    for sent in scene.upstream.asked:
        assert sent.body["chat_template_kwargs"] == {"enable_thinking": True}
        assert "thinking" not in sent.body


def test_a_messages_client_that_asks_for_no_thinking_gets_none_of_it(scene: Scene) -> None:
    scene.upstream.plays(whole("oa", ANSWER))

    scene.messages.messages.create(model="oa-hybrid", max_tokens=99, messages=ASKED)

    assert scene.upstream.asked[0].body["chat_template_kwargs"] == QUIET


def test_a_chat_clients_effort_is_one_for_a_model_that_adapts(scene: Scene) -> None:
    scene.upstream.plays(whole("an", ANSWER))

    answer = scene.chat.chat.completions.create(
        model="an-adapts", messages=ASKED, reasoning_effort="xhigh", temperature=0.2
    )

    body = scene.upstream.asked[0].body
    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert body["output_config"] == {"effort": "xhigh"}
    assert "temperature" not in body
    assert answer.choices[0].message.to_dict()["reasoning_content"] == ANSWER.thought


def test_a_techniques_draws_and_judgements_rest_unless_the_client_asks(scene: Scene) -> None:
    def choose(asked: Asked) -> Answer:
        judging = "response_format" in asked.body
        return whole("oa", Turn(parts=(SCORES,)) if judging else INLINE)

    scene.upstream.chooses(choose)
    wanted: Json = {"model": "oa-hybrid", "messages": ASKED, "extra_headers": VOTE}
    answers = [
        scene.chat.chat.completions.create(**wanted),
        scene.chat.chat.completions.create(**wanted, extra_body={"enable_thinking": True}),
    ]

    said = [sent.body for sent in scene.upstream.asked]
    judged = [body for body in said if "response_format" in body]
    drawn = [body for body in said if "response_format" not in body]
    assert [answer.choices[0].message.content for answer in answers] == ["Noon.", "Noon."]
    assert judged
    assert all(body["chat_template_kwargs"] == QUIET for body in judged)
    assert [body["chat_template_kwargs"]["enable_thinking"] for body in drawn] == [
        *(False, False),
        *(True, True),
    ]


def test_a_relayed_call_is_changed_only_where_the_operator_speaks(scene: Scene) -> None:
    scene.upstream.plays(*(whole("oa", INLINE),) * 3)
    plain = scene.chat.chat.completions.create(model="oa-hybrid", messages=ASKED)
    scene.chat.chat.completions.create(model="oa-steered", messages=ASKED)
    scene.chat.chat.completions.create(model="oa-steered", messages=ASKED, reasoning_effort="high")

    untouched, steered, own = (sent.body for sent in scene.upstream.asked)
    assert untouched == {"model": "Qwen/Qwen3-8B", "messages": ASKED}
    assert plain.choices[0].message.content == INLINE.text
    assert steered == {"model": "gpt-5.2", "messages": ASKED, "reasoning_effort": "low"}
    assert own["reasoning_effort"] == "high"
