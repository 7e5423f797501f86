"""Reads the body of an answer that is not streamed."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.upstream.openai.failure import is_error, reported, unreadable
from gateway.upstream.openai.payload import read
from gateway.upstream.providers.openai_chat.payload import usage_of
from techniques.core.json import JsonObject


@dataclass(frozen=True, slots=True)
class Whole:
    """A ``chat.completion`` object with at least one choice; ``mended``: it was no strict JSON."""

    value: JsonObject
    mended: bool


def read_whole(body: bytes) -> Whole:
    """Return the answer that *body* is.

    Raises:
        UpstreamFailed: It is none, or it reports a failure; with the tokens it counted.
    """
    if not body.strip():
        raise unreadable("is empty")
    try:
        value, mended = read(body)
    except ValueError:
        raise unreadable("is not JSON") from None
    if not isinstance(value, dict):
        raise unreadable("is not a JSON object")
    if is_error(value):
        raise reported(value, usage_of(value.get("usage")))
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise unreadable("has no choices", usage_of(value.get("usage")))
    return Whole(value, mended)
