"""Asks the provider how many tokens a request has."""

from __future__ import annotations

from typing import Final

import orjson

from gateway.upstream.openai.failure import unreadable
from gateway.upstream.openai.payload import as_object, read
from gateway.upstream.provider import HttpCall, Target
from gateway.upstream.providers.openai_responses.encode import encode
from gateway.upstream.providers.openai_responses.names import PATH
from pricing.usage import is_count
from techniques.core.json import JsonObject
from techniques.core.request import Request

_COUNTED: Final = frozenset(
    {
        *("model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls"),
        *("text", "reasoning", "truncation", "conversation", "previous_response_id"),
        "personality",
    }
)
"""Fields of a request that the counting endpoint takes."""


def input_tokens_call(request: Request, target: Target) -> HttpCall:
    """Return the call that counts the input tokens of *request* for *target*.

    Raises:
        RequestRejected: It needs a feature that the target does not have.
    """
    call = encode(request, target)
    body: JsonObject = orjson.loads(call.body)
    kept = {name: value for name, value in body.items() if name in _COUNTED}
    return HttpCall(f"{PATH}/input_tokens", orjson.dumps(kept), call.headers, call.warnings)


def read_count(body: bytes) -> int:
    """Return the count in *body*.

    Raises:
        UpstreamFailed: There is none.
    """
    try:
        value, _ = read(body)
    except ValueError:
        raise unreadable("is not JSON") from None
    count = as_object(value).get("input_tokens")
    if not isinstance(count, int) or not is_count(count):
        raise unreadable("tells no number of tokens")
    return count
