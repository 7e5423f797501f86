"""Reads of a request only what is needed to plan it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from gateway.wire.dialect import Call
from gateway.wire.drafts import has_drafts, without_drafts
from gateway.wire.once import Once
from gateway.wire.openai_chat.decode import request_of
from gateway.wire.openai_chat.fields import NAME, flag, integer, required, thing, wrong
from techniques.core.json import NOTHING, Json, JsonObject
from techniques.core.request import Relay

_OWN = frozenset({"reliability", "technique"})
"""Fields that only the gateway reads, in every dialect that has no place of its own for them."""


def call_of(body: JsonObject, raw: bytes) -> Call:
    """Return the call that *body*, parsed from *raw*, asks for.

    Raises:
        RequestRejected: A field that is read here is wrong.
    """
    model = required(body, "model")
    if not isinstance(body.get("messages"), list) or not body["messages"]:
        raise wrong("messages", "a list with at least one message")
    streamed = flag(body, "stream") or False
    integer(body, "n", 1)
    for name in ("max_tokens", "max_completion_tokens"):
        integer(body, name, 1)
    options = thing(body, "stream_options") or {}
    include_usage = flag(options, "include_usage", "stream_options.") or False
    wishes, body, kept = parted(body, raw)
    if any(map(_has_reasoning, body["messages"])) and has_drafts(raw):
        body, kept = {**body, "messages": [_undrafted(turn) for turn in body["messages"]]}, None
    relay = Relay(NAME, kept, body, Once(partial(request_of, body)), include_usage and streamed)
    return Call(NAME, model, streamed, relay, relay.include_usage, wishes)


def _has_reasoning(turn: Json) -> bool:
    return isinstance(turn, dict) and "reasoning_content" in turn


def _undrafted(turn: Json) -> Json:
    """Return *turn* without the drafts that were shown among its reasoning."""
    if not isinstance(turn, dict) or not isinstance(turn.get("reasoning_content"), str):
        return turn
    left = without_drafts(turn["reasoning_content"])
    others = {name: value for name, value in turn.items() if name != "reasoning_content"}
    return {**others, "reasoning_content": left} if left else others


def parted(body: JsonObject, raw: bytes) -> tuple[Mapping[str, Json], JsonObject, bytes | None]:
    """Return the wishes in *body*, and *body* and its bytes *raw* as a provider may see them.

    The bytes are None where something was taken out.

    Raises:
        RequestRejected: The wishes are not in their form.
    """
    if _OWN.isdisjoint(body):
        return NOTHING, body, raw
    return _wishes(body), {name: value for name, value in body.items() if name not in _OWN}, None


def _wishes(body: JsonObject) -> Mapping[str, Json]:
    """Return the ``reliability`` object; a ``technique`` beside it is a wish too, but weaker."""
    wishes = thing(body, "reliability") or {}
    technique = body.get("technique")
    if isinstance(technique, dict):
        named = required(technique, "name", "technique.")
        params = {name: value for name, value in technique.items() if name != "name"}
        return {"technique": named, **({"params": params} if params else {}), **wishes}
    if technique is not None and not isinstance(technique, str):
        raise wrong("technique", "a string or an object")
    return wishes if technique is None else {"technique": technique, **wishes}
