"""Who can count a request's tokens, and how that is asked and told in each dialect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import orjson

from gateway.policy.models import Model
from gateway.upstream.provider import HttpCall, Target
from gateway.upstream.providers.anthropic import count_tokens as anthropic
from gateway.upstream.providers.openai_responses import input_tokens as responses
from gateway.wire.anthropic import count_tokens as messages
from gateway.wire.dialect import Call
from gateway.wire.openai_responses.head import call_of
from techniques.core.json import JsonObject
from techniques.core.request import Request


class Spoken(NamedTuple):
    """How a count is asked for in a dialect, and how it is told."""

    decode: Callable[[JsonObject, bytes], Call]
    encode: Callable[[int], bytes]


class Counter(NamedTuple):
    """How a provider is asked for a count, and how its answer is read."""

    call: Callable[[Call, Target, Mapping[str, str]], HttpCall]
    read: Callable[[bytes], int]


def _told(tokens: int) -> bytes:
    return orjson.dumps({"object": "response.input_tokens", "input_tokens": tokens})


SPOKEN: Final[Mapping[str, Spoken]] = {
    "anthropic": Spoken(messages.decode, messages.encode_count),
    "openai_responses": Spoken(call_of, _told),
}
"""By the name of the client's dialect."""


def _anthropic(call: Call, target: Target, headers: Mapping[str, str]) -> HttpCall:
    if call.relay.dialect == "anthropic":
        return anthropic.count_tokens_call(call.relay, target, headers)
    return anthropic.translated_call(call.relay.decode(), target)


def _responses(call: Call, target: Target, headers: Mapping[str, str]) -> HttpCall:
    request = Request(call.model, dialect=call.dialect, headers=headers, relay=call.relay)
    return responses.input_tokens_call(request, target)


_COUNTERS: Final[Mapping[str, Counter]] = {
    "anthropic": Counter(_anthropic, anthropic.read_count),
    "openai_responses": Counter(_responses, responses.read_count),
}


def counter_of(model: Model) -> Counter | None:
    """Return how the provider of *model* counts, None if it cannot."""
    return _COUNTERS.get(model.channel.provider.dialect)
