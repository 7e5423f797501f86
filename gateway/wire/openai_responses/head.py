"""Reads of a request only what is needed to plan it."""

from __future__ import annotations

from functools import partial
from typing import Final

from gateway.wire.dialect import Call
from gateway.wire.drafts import has_drafts
from gateway.wire.once import Once
from gateway.wire.openai_chat.fields import flag, integer, required, thing, wrong
from gateway.wire.openai_chat.head import parted
from gateway.wire.openai_responses.decode import request_of
from gateway.wire.openai_responses.fields import NAME
from gateway.wire.openai_responses.reasoning import undrafted
from techniques.core.errors import RequestRejected
from techniques.core.json import JsonObject
from techniques.core.request import Relay

_INSTEAD: Final = ("prompt", "previous_response_id", "conversation")
"""With one of these a request may be without an input."""


def call_of(body: JsonObject, raw: bytes) -> Call:
    """Return the call that *body*, parsed from *raw*, asks for.

    Raises:
        RequestRejected: A field that is read here is wrong.
    """
    model = required(body, "model")
    _check(body)
    streamed = flag(body, "stream") or False
    wishes, body, kept = parted(body, raw)
    if has_drafts(raw) and isinstance(body.get("input"), list):
        left = [item for item in map(undrafted, body["input"]) if item is not None]
        body, kept = {**body, "input": left}, None
    relay = Relay(NAME, kept, body, Once(partial(request_of, body)), include_usage=True)
    return Call(NAME, model, streamed, relay, include_usage=True, wishes=wishes)


def _check(body: JsonObject) -> None:
    given = body.get("input")
    if given is None:
        if all(body.get(name) is None for name in _INSTEAD):
            raise RequestRejected(
                "Missing required parameter: 'input'.",
                code="missing_required_parameter",
                param="input",
            )
    elif not isinstance(given, str | list):
        raise wrong("input", "a string or a list of items")
    integer(body, "max_output_tokens", 1)
    thing(body, "stream_options")
    thing(body, "text")
    if flag(body, "background"):
        raise RequestRejected(
            "This gateway carries out no response in the background: 'background' must be false.",
            code="unsupported_parameter",
            param="background",
        )
