"""Thinking: blocks and signatures through a loop of tools, reasoning beside a completion."""

from __future__ import annotations

import pytest

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.e2e.test_tools import MESSAGE_TOOLS
from tests.e2e.turns import MODELS, Called, Turn, streamed, whole
from tests.fakes import script

ASKED: list[Json] = [{"role": "user", "content": "What time is it?"}]
THOUGHT = Turn(
    parts=("Let me see.",),
    calls=(Called("call_b2", "now", "{}"),),
    thought="The clock \u2028 will know.",
    signature="EqQBCkYIBxgCKkAx/++yQ==",
)
ANSWER = Turn(parts=("Noon.",), thought="It said 12.", signature="c2Vjb25k")
ON: Json = {"type": "enabled", "budget_tokens": 1024}


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
