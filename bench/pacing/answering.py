"""The provider's two APIs: what a request asks for, and answers of the length it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from bench.pacing import words
from bench.pacing.account import Asked

_PIECES: Final = 8
_UNMARKED_TOKENS: Final = 5
Body = Mapping[str, Any]


def read(body: Body) -> Asked:
    """Return what a request of either API asks for."""
    turns = _texts(body.get("system"))
    for message in body["messages"]:
        turns += _texts(message.get("content"))
    length = words.marked(turns[-1]) if turns else None
    most = body.get("max_tokens") or body.get("max_completion_tokens") or 0
    return Asked(
        prompt=sum(len(turn.split()) for turn in turns),
        characters=sum(map(len, turns)),
        output=_UNMARKED_TOKENS if length is None else length,
        max_tokens=most,
        streamed=bool(body.get("stream")),
        marked=length is not None,
    )


def completion(body: Body, asked: Asked) -> bytes:
    """Return an answer as OpenAI, Azure and Groq give it."""
    message = {"role": "assistant", "content": "".join(_pieces(asked))}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    head = _chat(body, "chat.completion")
    return orjson.dumps({**head, "choices": [choice], "usage": _chat_usage(asked)})


def completion_stream(body: Body, asked: Asked) -> Iterator[bytes]:
    """Yield the same answer as events; its usage comes where it was asked for."""
    head = _chat(body, "chat.completion.chunk")

    def chunk(delta: Mapping[str, str], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return _data({**head, "choices": [choice]})

    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(asked):
        yield chunk({"content": piece})
    ending = chunk({}, "stop")
    if (body.get("stream_options") or {}).get("include_usage"):
        ending += _data({**head, "choices": [], "usage": _chat_usage(asked)})
    yield ending + b"data: [DONE]\n\n"


def message(body: Body, asked: Asked) -> bytes:
    """Return an answer as Anthropic gives it."""
    content = [{"type": "text", "text": "".join(_pieces(asked))}]
    usage = {"input_tokens": asked.prompt, "output_tokens": asked.output}
    return orjson.dumps(
        {**_message(body), "content": content, "stop_reason": "end_turn", "usage": usage}
    )


def message_stream(body: Body, asked: Asked) -> Iterator[bytes]:
    """Yield the same answer as events."""
    usage = {"input_tokens": asked.prompt, "output_tokens": 1}
    start = {**_message(body), "content": [], "stop_reason": None, "usage": usage}
    block = {"type": "text", "text": ""}
    yield _event("message_start", message=start)
    yield _event("content_block_start", index=0, content_block=block)
    for piece in _pieces(asked):
        delta = {"type": "text_delta", "text": piece}
        yield _event("content_block_delta", index=0, delta=delta)
    ending = {"stop_reason": "end_turn", "stop_sequence": None}
    written = {"output_tokens": asked.output}
    yield (
        _event("content_block_stop", index=0)
        + _event("message_delta", delta=ending, usage=written)
        + _event("message_stop")
    )


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    if isinstance(content, list):
        return [part["text"] for part in content if part.get("type") == "text"]
    return []


def _pieces(asked: Asked) -> Iterator[str]:
    """Yield the words of the answer, a few pieces of them."""
    said = words.text(asked.output, asked.prompt).split()
    size = max(1, -(-len(said) // _PIECES))
    for at in range(0, len(said), size):
        yield f"{' ' if at else ''}{' '.join(said[at : at + size])}"


def _chat(body: Body, kind: str) -> dict[str, object]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1_700_000_000, "model": body["model"]}


def _chat_usage(asked: Asked) -> dict[str, int]:
    return {
        "prompt_tokens": asked.prompt,
        "completion_tokens": asked.output,
        "total_tokens": asked.prompt + asked.output,
    }


def _message(body: Body) -> dict[str, object]:
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"]}


def _data(value: Mapping[str, object]) -> bytes:
    return b"data: " + orjson.dumps(value) + b"\n\n"


def _event(kind: str, **fields: object) -> bytes:
    return b"event: " + kind.encode() + b"\n" + _data({"type": kind, **fields})
