"""Reads the whole of a request into the neutral form."""

from __future__ import annotations

from typing import Final

from gateway.wire.ollama.fields import (
    COMMON,
    NAME,
    format_of,
    ignored,
    model_of,
    options_of,
    sampling_of,
    streamed,
    wish_of,
)
from gateway.wire.ollama.images import images_of
from gateway.wire.ollama.turns import tools_of, turns_of
from gateway.wire.openai_chat.fields import Fields, flag, items, rest, text
from techniques.core.errors import RequestRejected
from techniques.core.json import JsonObject
from techniques.core.request import Message, Part, Request, Text, Tool, said

CHAT: Final = COMMON | {"messages", "tools"}
GENERATE: Final = COMMON | {
    *("prompt", "suffix", "images", "system", "template", "raw", "context", "messages"),
}


def chat_of(body: Fields) -> Request:
    """Return the request that the *body* of ``/api/chat`` spells.

    Raises:
        RequestRejected: A field is wrong; it is named.
    """
    turns, tools = turns_of(items(body, "messages")), tools_of(items(body, "tools"))
    return _request(body, turns, tools, rest(body, CHAT))


def generate_of(body: Fields) -> Request:
    """Return the request that the *body* of ``/api/generate`` spells: one turn of its user.

    Raises:
        RequestRejected: A field is wrong, or asks for what no chat model can do.
    """
    if text(body, "suffix"):
        raise RequestRejected(
            f"{model_of(body)[:128]} does not support insert",
            code="unsupported_feature",
            param="suffix",
        )
    system, raw = text(body, "system"), flag(body, "raw")
    asked: tuple[Part, ...] = (*images_of(body, ""), Text(text(body, "prompt") or ""))
    turns = (*((said("system", system),) if system and not raw else ()), Message("user", asked))
    extra = rest(body, GENERATE)
    unheard = {"template": text(body, "template"), "raw": raw, "context": items(body, "context")}
    extra |= {name: value for name, value in unheard.items() if value}
    return _request(body, turns, (), extra)


def _request(
    body: Fields, turns: tuple[Message, ...], tools: tuple[Tool, ...], extra: JsonObject
) -> Request:
    """Return a request; what only Ollama understands is in ``extra``, so that its loss is told."""
    options = options_of(body)
    return Request(
        model=model_of(body),
        messages=turns,
        tools=tools,
        response_format=format_of(body),
        sampling=sampling_of(body, options),
        thinking=wish_of(body),
        stream=streamed(body),
        dialect=NAME,
        extra={**extra, **dict(ignored(options))},
    )
