"""Bytes as OpenAI-compatible hosts send them, and readers to put them through."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson

from gateway.upstream.provider import Reader, Target
from gateway.upstream.providers.openai_chat import OpenAIChat
from techniques.core.errors import UpstreamFailed
from techniques.core.events import Event, Finished, Relayed
from techniques.core.reply import Fold, Reply
from techniques.core.request import Relay, Request

OPENAI = OpenAIChat()
TARGET = Target("fast", "host", "host-model-1")
DONE = b"data: [DONE]\n\n"
FIXTURES = Path(__file__).parents[2] / "fixtures" / "openai_chat"


def frame(value: Any) -> bytes:
    return b"data: " + orjson.dumps(value) + b"\n\n"


def chunk(delta: Any = None, finish: str | None = None, **more: Any) -> bytes:
    """One chunk with one choice."""
    choice = {"index": 0, "delta": {} if delta is None else delta, "finish_reason": finish}
    return frame(bare(choices=[choice], **more))


def bare(**more: Any) -> dict[str, Any]:
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {**head, **more}


def completion(message: Any, finish: Any = "stop", **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": message, "finish_reason": finish}
    head = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m"}
    return {**head, "choices": [choice], **more}


def counted(prompt: int, output: int) -> dict[str, int]:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": prompt + output,
    }


ROLE = chunk({"role": "assistant", "content": ""})
HELLO = ROLE + chunk({"content": "Hel"}) + chunk({"content": "lo"})
STOP = chunk(finish="stop")


def relaying(*, usage: bool = False, streamed: bool = True, n: int = 1) -> Reader:
    body = {"model": "fast", "messages": [], "stream": streamed, "n": n}
    relay = Relay("openai_chat", b"{}", body, lambda: Request("m"), usage)
    request = Request("fast", stream=streamed, dialect="openai_chat", relay=relay)
    return OPENAI.reader(request, TARGET, streamed=streamed)


def decoding(*, streamed: bool = True, split: bool = False) -> Reader:
    target = Target("fast", "host", "host-model-1", split_thinking=split)
    return OPENAI.reader(Request("fast", stream=streamed), target, streamed=streamed)


def pieces(data: bytes, cuts: Iterable[int] = ()) -> list[bytes]:
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(places)]


def drain(reader: Reader, data: bytes, cuts: Iterable[int] = ()) -> list[Event]:
    events: list[Event] = []
    for piece in pieces(data, cuts):
        events.extend(reader.feed(piece))
    events.extend(reader.end())
    return events


def broken(reader: Reader, data: bytes) -> tuple[list[Event], UpstreamFailed]:
    """The events before a failure, and the failure."""
    events: list[Event] = []
    try:
        events.extend(reader.feed(data))
        events.extend(reader.end())
    except UpstreamFailed as error:
        return events, error
    raise AssertionError("It did not fail.")


def sent(events: Iterable[Event]) -> bytes:
    """The bytes that a client gets of relayed events."""
    return b"".join(event.raw for event in events if isinstance(event, Relayed | Finished))


def payloads(data: bytes) -> list[Any]:
    """The JSON of every data event but the last mark."""
    frames = data.replace(b"\r\n", b"\n").split(b"\n\n")
    texts = [frame.removeprefix(b"data:").strip() for frame in frames if frame[:5] == b"data:"]
    return [orjson.loads(text) for text in texts if text != b"[DONE]"]


def folded(events: Iterable[Event]) -> Reply:
    fold = Fold()
    for event in events:
        fold.feed(event)
    return fold.reply()
