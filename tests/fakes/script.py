"""What a scripted upstream answers: exact bytes, written one by one, and how they end."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from techniques.core.json import Json

Framing: TypeAlias = Literal["length", "chunked", "close"]
End: TypeAlias = Literal["whole", "fin", "reset", "hold"]
JSON_TYPE: Mapping[str, str] = {"content-type": "application/json"}
SSE_TYPE: Mapping[str, str] = {"content-type": "text/event-stream"}


@dataclass(frozen=True, slots=True)
class Wait:
    """A pause between two writes, in seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Until:
    """A pause between two writes, until *met*: for what is not written before others had a turn."""

    met: Callable[[], bool]


Write: TypeAlias = bytes | Wait | Until


@dataclass(frozen=True, slots=True)
class Answer:
    """One scripted answer.

    Each of ``writes`` is flushed alone. ``end`` says what follows the last one: ``whole`` ends the
    body as ``framing`` has it, ``fin`` closes the connection without that, ``reset`` resets it,
    ``hold`` sends nothing more until the peer leaves. The head waits until ``met``, and then for
    ``after`` seconds.
    With ``model`` set, only a call for that model gets this answer.
    """

    writes: tuple[Write, ...] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: JSON_TYPE)
    framing: Framing = "length"
    end: End = "whole"
    after: float = 0.0
    met: Callable[[], bool] | None = None
    model: str | None = None

    def later(self, seconds: float) -> Answer:
        """Return this answer with its head held back for *seconds*."""
        return replace(self, after=seconds)

    def once(self, met: Callable[[], bool]) -> Answer:
        """Return this answer with its head held back until *met*."""
        return replace(self, met=met)

    def only_for(self, model: str) -> Answer:
        """Return this answer, for calls that ask for *model* alone."""
        return replace(self, model=model)


def dumps(value: Json) -> bytes:
    """Return *value* as compact JSON, with characters beyond ASCII as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def raw(body: bytes, *, status: int = 200, headers: Mapping[str, str] = JSON_TYPE) -> Answer:
    """Answer with exactly *body*."""
    return Answer((body,), status=status, headers=headers)


def body(value: Json, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """Answer with *value* as JSON."""
    return Answer((dumps(value),), status=status, headers={**JSON_TYPE, **(headers or {})})


def zipped(value: Json) -> Answer:
    """Answer with *value* as gzipped JSON."""
    return Answer((gzip.compress(dumps(value)),), headers={**JSON_TYPE, "content-encoding": "gzip"})


def error(
    status: int,
    message: str = "something broke",
    kind: str = "server_error",
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """Answer with an error as OpenAI words it."""
    said = {"message": message, "type": kind, "param": None, "code": code}
    return body({"error": said}, status=status, headers=headers)


def sse(*writes: Write, framing: Framing = "chunked", end: End = "whole") -> Answer:
    """Answer with an event stream made of *writes*."""
    return Answer(tuple(writes), headers=SSE_TYPE, framing=framing, end=end)


def bytewise(*writes: bytes) -> tuple[bytes, ...]:
    """Return the bytes of *writes*, each as a write of its own."""
    return tuple(bytes([byte]) for byte in b"".join(writes))


# What an OpenAI chat completions API says.


def frame(value: Json) -> bytes:
    """Return one server-sent event whose data is *value*."""
    return b"data: " + dumps(value) + b"\n\n"


def chunk(delta: Json, finish: str | None = None, **more: Json) -> bytes:
    """Return one chunk with one choice; *more* are members of the choice."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish, **more}
    return frame(shell([choice]))


def shell(choices: Json, **more: Json) -> dict[str, Json]:
    """Return a chunk object with *choices*."""
    top = {"id": "chatcmpl-77", "object": "chat.completion.chunk", "created": 1754000000}
    return {**top, "model": "real-model", "choices": choices, **more}


def begin() -> bytes:
    """Return the chunk that only tells the role."""
    return chunk({"role": "assistant", "content": ""})


def text(content: str, finish: str | None = None) -> bytes:
    """Return a chunk with some text."""
    return chunk({"content": content}, finish)


def finish(reason: str = "stop") -> bytes:
    """Return the chunk that tells why the model stopped."""
    return chunk({}, reason)


def counts(prompt: int, output: int, **more: Json) -> dict[str, Json]:
    """Return a usage object."""
    total = {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}
    return {**total, **more}


def usage(prompt: int, output: int, **more: Json) -> bytes:
    """Return the chunk without choices that tells the usage."""
    return frame(shell([], usage=counts(prompt, output, **more)))


def done() -> bytes:
    """Return the terminal line."""
    return b"data: [DONE]\n\n"


def told(*parts: str, reason: str = "stop") -> Answer:
    """Answer with a whole well-formed stream whose text comes in *parts*."""
    return sse(begin(), *map(text, parts), finish(reason), usage(12, 4), done())


def call_delta(call: Json, finish: str | None = None) -> bytes:
    """Return a chunk with one entry of ``tool_calls``."""
    return chunk({"tool_calls": [call]}, finish)


def called(name: str, arguments: Json, **more: Json) -> dict[str, Json]:
    """Return a tool call as OpenAI writes it; *more* are such members as ``index`` and ``id``."""
    return {**more, "type": "function", "function": {"name": name, "arguments": arguments}}


def completion(
    content: Json = "fine",
    reason: str | None = "stop",
    *,
    used: Json = None,
    message: Json = None,
) -> Answer:
    """Answer with one whole chat completion."""
    said = {"role": "assistant", "content": content} if message is None else message
    return choices({"index": 0, "message": said, "finish_reason": reason}, used=used)


def choices(*made: Json, used: Json = None) -> Answer:
    """Answer with a chat completion that has the choices *made*."""
    top = {"id": "chatcmpl-77", "object": "chat.completion", "created": 1754000000}
    counted = counts(12, 4) if used is None else used
    return body({**top, "model": "real-model", "choices": list(made), "usage": counted})


# What an Anthropic messages API says.


def event(name: str, /, **fields: Json) -> bytes:
    """Return one event of a stream, named in both places."""
    return b"event: " + name.encode() + b"\ndata: " + dumps({"type": name, **fields}) + b"\n\n"


def message_start(read: int = 21, wrote: int = 1, **more: int) -> bytes:
    """Return the first event, with input and output tokens so far."""
    used = {"input_tokens": read, "output_tokens": wrote, **more}
    return event("message_start", message=_message([], None, used))


def text_block(content: str, index: int = 0) -> bytes:
    """Return the three events of a text block."""
    return text_opened(content, index) + event("content_block_stop", index=index)


def text_opened(content: str, index: int = 0) -> bytes:
    """Return the start of a text block and its first piece."""
    start = event("content_block_start", index=index, content_block={"type": "text", "text": ""})
    delta = {"type": "text_delta", "text": content}
    return start + event("content_block_delta", index=index, delta=delta)


def message_end(reason: str = "end_turn", wrote: int = 14) -> bytes:
    """Return the two events that end a message."""
    delta = {"stop_reason": reason, "stop_sequence": None}
    last = event("message_delta", delta=delta, usage={"output_tokens": wrote})
    return last + event("message_stop")


def message(
    content: Sequence[Json] | str = "fine", reason: str = "end_turn", used: Json = None
) -> Answer:
    """Answer with one whole message."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    counted = {"input_tokens": 12, "output_tokens": 4} if used is None else used
    return body(_message(blocks, reason, counted))


def overload() -> bytes:
    """Return the event that tells of an overload inside a stream."""
    return event("error", error={"type": "overloaded_error", "message": "Overloaded"})


def _message(content: Json, reason: str | None, used: Json) -> dict[str, Json]:
    top = {"id": "msg_77", "type": "message", "role": "assistant", "model": "real-claude"}
    return {**top, "content": content, "stop_reason": reason, "stop_sequence": None, "usage": used}
