"""Reasoning that only a host of chat completions can read comes back to it, and to no other."""

from __future__ import annotations

from typing import Any, Final

import pytest

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.fakes import script

HIDDEN: Final[Json] = {"type": "reasoning.encrypted", "id": "c1", "data": "Eo8B+/=", "index": 1}
SIGNED: Final[Json] = {
    "type": "reasoning.text",
    "text": "They ask.",
    "signature": "ErUBCkYIC/+=",
    "format": "anthropic-claude-v1",
    "index": 0,
}
SHOWN: Final[Json] = {"type": "reasoning.text", "text": "They ask.", "index": 0}
QUESTION: Final[Json] = {"role": "user", "content": "How is the weather?"}
SCHEMA: Final[Json] = {"type": "object", "properties": {"city": {"type": "string"}}}
MADE: Final = script.called("weather", '{"city": "Ulm"}', index=0, id="c1")
STREAMED: Final = pytest.mark.parametrize("stream", [False, True])
OTHERS: Final = pytest.mark.parametrize("other", ["oa-model", "an-model", "rs-model"])


def plays(scene: Scene, *, stream: bool, shown: Json = SHOWN) -> None:
    """Let the host reason, and call a tool; whatever it is asked next is refused."""
    if stream:
        text = {name: shown[name] for name in shown if name != "signature"}
        parts = [text, HIDDEN] if text == shown else [text, {**shown, "text": ""}, HIDDEN]
        first = [script.chunk({"reasoning_details": [part]}) for part in parts]
        last = [script.call_delta(MADE), script.finish("tool_calls"), script.done()]
        answer = script.sse(script.begin(), *first, *last)
    else:
        message: Json = {"role": "assistant", "content": None, "tool_calls": [MADE]}
        message["reasoning_details"] = [shown, HIDDEN]
        answer = script.choices({"index": 0, "message": message, "finish_reason": "tool_calls"})
    scene.upstream.plays(answer, script.error(400, "no more"))


def by_messages(scene: Scene, other: str, *, stream: bool) -> None:
    asked: Json = {"max_tokens": 99, "tools": [{"name": "weather", "input_schema": SCHEMA}]}
    said: Any
    if stream:
        with scene.messages.messages.stream(
            **asked, model="oa-router", messages=[QUESTION]
        ) as told:
            said = told.get_final_message()
    else:
        said = scene.messages.messages.create(**asked, model="oa-router", messages=[QUESTION])
    blocks = [block.to_dict(mode="json") for block in said.content]
    assert {block["type"] for block in blocks} == {"thinking", "redacted_thinking", "tool_use"}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "wet"}
    turns: list[Json] = [
        QUESTION,
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": [result]},
    ]
    with pytest.raises(Exception, match="no more"):
        scene.messages.messages.create(**asked, model=other, messages=turns)


def by_responses(scene: Scene, other: str, *, stream: bool) -> None:
    tool: Json = {"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}
    asked: Json = {"tools": [tool], "include": ["reasoning.encrypted_content"]}
    said: Any
    if stream:
        with scene.chat.responses.stream(**asked, model="oa-router", input=[QUESTION]) as told:
            said = told.get_final_response()
    else:
        said = scene.chat.responses.create(**asked, model="oa-router", input=[QUESTION])
    items = [item.to_dict(mode="json") for item in said.output]
    assert any(item.get("encrypted_content") for item in items)
    result: Json = {"type": "function_call_output", "call_id": "c1", "output": "wet"}
    with pytest.raises(Exception, match="no more"):
        scene.chat.responses.create(**asked, model=other, input=[QUESTION, *items, result])


CLIENTS: Final = pytest.mark.parametrize("client", [by_messages, by_responses])


@STREAMED
@CLIENTS
def test_what_a_host_hid_comes_back_to_it(scene: Scene, client: Any, *, stream: bool) -> None:
    plays(scene, stream=stream)

    client(scene, "oa-router", stream=stream)

    (turn,) = [t for t in scene.upstream.asked[1].body["messages"] if t["role"] == "assistant"]
    assert turn["reasoning_details"] == [HIDDEN]


@STREAMED
@CLIENTS
def test_what_a_host_signed_comes_back_to_it_with_its_text(
    scene: Scene, client: Any, *, stream: bool
) -> None:
    plays(scene, stream=stream, shown=SIGNED)

    client(scene, "oa-router", stream=stream)

    (turn,) = [t for t in scene.upstream.asked[1].body["messages"] if t["role"] == "assistant"]
    assert turn["reasoning_details"] == [SIGNED, HIDDEN]


@OTHERS
@STREAMED
@CLIENTS
@pytest.mark.parametrize("shown", [SHOWN, SIGNED], ids=["plain", "signed"])
def test_another_model_does_not_get_what_a_host_hid_or_signed(
    scene: Scene, client: Any, other: str, shown: Json, *, stream: bool
) -> None:
    plays(scene, stream=stream, shown=shown)

    client(scene, other, stream=stream)

    told = scene.upstream.asked[1].raw.decode()
    assert "weather" in told
    assert "wet" in told
    for word in ("reasoning_details", "openai_chat:", "redacted", "Eo8B", "ErUB"):
        assert word not in told
