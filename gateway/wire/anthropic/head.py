"""Reads as much of a request's body as planning needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from gateway.wire.anthropic.decode import decode_request
from gateway.wire.anthropic.fields import a_string, an_object, flag, integer, reject
from gateway.wire.dialect import Call
from gateway.wire.drafts import has_drafts, without_drafts
from gateway.wire.once import Once
from techniques.core.json import NOTHING, Json, JsonObject
from techniques.core.request import Relay

DIALECT = "anthropic"
_OURS = ("reliability", "technique")
"""Fields that only the gateway reads; a provider would refuse them."""


def decode_call(body: JsonObject, raw: bytes) -> Call:
    """Return the call that the body of ``POST /v1/messages`` asks for.

    Raises:
        RequestRejected: A field that planning needs is missing or of a wrong type.
    """
    integer(body, "max_tokens", least=1, required=True)
    return _call(body, raw)


def decode_count(body: JsonObject, raw: bytes) -> Call:
    """Return the call of ``POST /v1/messages/count_tokens``: the same, without ``max_tokens``.

    Raises:
        RequestRejected: As for ``decode_call``.
    """
    return _call(body, raw)


def _call(body: JsonObject, raw: bytes) -> Call:
    model = a_string(body.get("model"), "model")
    if not model:
        reject("model", "the name of a model")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        reject("messages", "a list of at least one message")
    streamed = flag(body, "stream") or False
    wishes = _wishes(body.get("reliability"))
    return Call(DIALECT, model, streamed, _relay(body, raw), include_usage=True, wishes=wishes)


def _wishes(value: Json) -> Mapping[str, Json]:
    return NOTHING if value is None else an_object(value, "reliability")


def _relay(body: JsonObject, raw: bytes) -> Relay:
    kept: bytes | None = raw
    if any(name in body for name in _OURS):
        body = {name: value for name, value in body.items() if name not in _OURS}
        kept = None
    if has_drafts(raw):
        body, kept = {**body, "messages": list(_undrafted(body["messages"]))}, None
    return Relay(DIALECT, kept, body, Once(partial(decode_request, body)), include_usage=True)


def _undrafted(messages: list[Json]) -> Iterator[Json]:
    """Yield *messages* without the blocks in which drafts were shown; none is left empty."""
    for turn in messages:
        blocks = turn.get("content") if isinstance(turn, dict) else None
        if not isinstance(blocks, list):
            yield turn
        elif kept := [block for block in blocks if not _is_draft(block)]:
            yield {**turn, "content": kept}


def _is_draft(block: Json) -> bool:
    if not isinstance(block, dict) or block.get("type") != "thinking":
        return False
    text = block.get("thinking")
    return isinstance(text, str) and bool(text) and not without_drafts(text)
