"""The acceptance facts A-59 and A-65, in the bodies of both dialects."""

from __future__ import annotations

import orjson
import pytest

from gateway.app import CHAT, MESSAGES
from gateway.channels.slimmed import SlimmedChannel
from gateway.context.rules import OnWall
from gateway.upstream.provider import Target
from techniques.core.channel import ask
from techniques.core.json import Json
from techniques.core.request import Image, Message, Request, Text, ToolCall, ToolResult
from techniques.testing import ScriptedChannel
from tests.gateway.context.scene import FILLER, SYSTEM, Scene, talk
from tests.gateway.surfaces.scene import DIALECTS

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
WAYS: tuple[OnWall, ...] = ("drop_tool_results", "summarise", "truncate")
every_way = pytest.mark.parametrize("on_wall", WAYS)
every_dialect = pytest.mark.parametrize("dialect", ["openai_chat", "anthropic"])


def chatted(steps: int) -> Json:
    sent: list[Json] = [{"role": "system", "content": "Be careful."}]
    url = f"data:image/png;base64,{PIXEL}"
    for step in range(steps):
        call: Json = {"id": f"c{step}", "type": "function"}
        call["function"] = {"name": "look", "arguments": f'{{"at":"ID-{step}"}}'}
        picture = {"type": "image_url", "image_url": {"url": url}}
        sent += [
            {"role": "user", "content": [{"type": "text", "text": f"See {step}."}, picture]},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{step}", "content": FILLER * 9},
            {"role": "assistant", "content": f"I have seen it with my own eyes. {FILLER}"},
        ]
    sent.append({"role": "user", "content": "And now?"})
    return {"model": "m", "messages": sent}


def messaged(steps: int) -> Json:
    sent: list[Json] = []
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    for step in range(steps):
        picture = {"type": "image", "source": source}
        call = {"type": "tool_use", "id": f"c{step}", "name": "look", "input": {"at": f"ID-{step}"}}
        content = [{"type": "text", "text": FILLER * 9}, picture]
        result = {"type": "tool_result", "tool_use_id": f"c{step}", "content": content}
        sent += [
            {"role": "user", "content": [{"type": "text", "text": f"See {step}."}, picture]},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": f"I have seen it with my own eyes. {FILLER}"},
        ]
    sent.append({"role": "user", "content": "And now?"})
    return {"model": "m", "max_tokens": 100, "system": "Be careful.", "messages": sent}


def decoded(dialect: str, body: Json) -> Request:
    raw = orjson.dumps(body)
    spoken = CHAT if dialect == "openai_chat" else MESSAGES
    return spoken.decode(orjson.loads(raw), raw).relay.decode()


def long(dialect: str, steps: int = 12) -> Request:
    return decoded(dialect, chatted(steps) if dialect == "openai_chat" else messaged(steps))


def again(dialect: str, request: Request) -> Request:
    """Return *request* as it is when it was written down and read again."""
    sent = DIALECTS[dialect].encode(request, Target("m", "p", "m"))
    return decoded(dialect, orjson.loads(sent.body))


def shapes(messages: tuple[Message, ...]) -> list[Json]:
    """Return what *messages* are, part by part: turns of one role may be joined."""
    return [
        (message.role, type(part).__name__, part.text if isinstance(part, Text) else "")
        for message in messages
        for part in message.parts
    ]


@every_way
@every_dialect
async def test_a59_what_is_left_survives_being_written_down_and_read(
    on_wall: OnWall, dialect: str
) -> None:
    request = long(dialect)
    slim = await Scene(on_wall, window=8000, at=0.4).slimming().slim(request)

    assert len(slim.messages) <= len(request.messages)
    assert slim != request
    assert shapes(again(dialect, slim).messages) == shapes(slim.messages)


@every_way
@every_dialect
async def test_a59_what_was_shortened_is_left_as_it_is_when_it_is_short_enough(
    on_wall: OnWall, dialect: str
) -> None:
    scene = Scene(on_wall, window=8000, at=0.9 if on_wall == "drop_tool_results" else 0.4)
    slim = await scene.slimming().slim(long(dialect))

    assert await scene.slimming().slim(again(dialect, slim)) == again(dialect, slim)


async def test_a59_a_conversation_is_shortened_before_the_first_call_is_made() -> None:
    scene, inner = Scene("truncate"), ScriptedChannel(["Done."])

    await ask(SlimmedChannel(inner, scene.slimming(), []), Request("m", talk(30)))

    (asked,) = inner.asked
    assert asked.messages[0] == SYSTEM
    assert asked.messages[-1] == talk(30)[-1]
    assert len(asked.messages) < len(talk(30))


@every_way
@every_dialect
async def test_a65_pictures_are_taken_and_no_pair_is_broken(on_wall: OnWall, dialect: str) -> None:
    request = long(dialect)
    slim = await Scene(on_wall, window=8000, at=0.4).slimming().slim(request)

    parts = [part for message in slim.messages for part in message.parts]
    calls = [part.id for part in parts if isinstance(part, ToolCall)]
    assert calls == [part.call_id for part in parts if isinstance(part, ToolResult)]
    assert slim.messages[-5:] == request.messages[-5:]
    kept = sum(isinstance(part, Image) for message in slim.messages for part in message.parts)
    assert kept < 12
