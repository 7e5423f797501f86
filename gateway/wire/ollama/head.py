"""Reads of a request only what is needed to plan it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gateway.wire.dialect import Call
from gateway.wire.ollama.decode import chat_of, generate_of
from gateway.wire.ollama.fields import GENERATE, NAME, in_common_words, model_of, streamed
from gateway.wire.once import Once
from gateway.wire.openai_chat.fields import Fields, items, text
from gateway.wire.openai_chat.head import parted
from techniques.core.json import Json, JsonObject
from techniques.core.request import Relay, Request


def chat_call(body: JsonObject, raw: bytes) -> Call:
    """Return the call that the *body* of ``/api/chat``, parsed from *raw*, asks for.

    Raises:
        RequestRejected: A field that is read here is wrong.
    """
    asks = bool(items(body, "messages"))
    return _call(NAME, body, raw, chat_of, asks=asks)


def generate_call(body: JsonObject, raw: bytes) -> Call:
    """Return the call that the *body* of ``/api/generate``, parsed from *raw*, asks for.

    Raises:
        RequestRejected: A field that is read here is wrong.
    """
    prompt, system = text(body, "prompt"), text(body, "system")
    turns: list[Json] = [{"role": "system", "content": system}] if system else []
    turns.append({"role": "user", "content": prompt, "images": items(body, "images")})
    return _call(GENERATE, {**body, "messages": turns}, raw, generate_of, asks=bool(prompt))


def _call(
    name: str, body: JsonObject, raw: bytes, decode: Callable[[Fields], Request], *, asks: bool
) -> Call:
    """Return the call of the dialect of that *name*; who *asks* nothing only looks for the model.

    The relay is one to no provider: what it holds is looked at, and decoded.
    """
    model = model_of(body)
    wishes, body, _ = parted(body, raw)
    seen = in_common_words(body)
    relay = Relay(NAME, raw, seen, Once(partial(decode, body)), include_usage=True)
    return Call(
        name, model, streamed(body), relay, include_usage=True, wishes=wishes, idle=not asks
    )
