"""Asks the provider how many tokens a request has."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from gateway.upstream.provider import HttpCall, Target
from gateway.upstream.providers.anthropic.encode import encode_call
from gateway.upstream.providers.anthropic.failure import unreadable
from gateway.upstream.providers.anthropic.foreign import goes_without, has_foreign
from gateway.upstream.providers.anthropic.headers import PATH, versioned
from gateway.upstream.providers.anthropic.uncited import has_made, uncited_turns
from techniques.core.json import NOTHING
from techniques.core.request import Relay, Request

_NOT_COUNTED = frozenset({"max_tokens", "stream"})
"""Fields of a request that the counting endpoint refuses."""
_COUNTED = frozenset(
    {"model", "messages", "system", "tools", "tool_choice", "thinking", "output_config"}
)
"""What is counted of a request that was translated."""


def count_tokens_call(
    relay: Relay, target: Target, client: Mapping[str, str] = NOTHING
) -> HttpCall:
    """Return the call that counts the tokens of *relay* for *target*.

    *client* are those of the client's headers that a provider may see.
    """
    raw = relay.raw
    foreign = has_foreign(relay.body, raw)
    made = has_made(relay.body, raw)
    same = relay.body.get("model") == target.model and not (foreign or made)
    if raw is None or not same or relay.body.keys() & _NOT_COUNTED:
        body = {name: value for name, value in relay.body.items() if name not in _NOT_COUNTED}
        if foreign:
            goes_without(body)
        if made:
            body["messages"] = uncited_turns(body["messages"])
        raw = orjson.dumps({**body, "model": target.model})
    return HttpCall(f"{PATH}/count_tokens", raw, versioned(client))


def translated_call(request: Request, target: Target) -> HttpCall:
    """Return the call that counts the tokens of *request*, of another dialect, for *target*.

    Raises:
        RequestRejected: It needs what the target does not have.
    """
    call = encode_call(request, target)
    body = {name: value for name, value in orjson.loads(call.body).items() if name in _COUNTED}
    return HttpCall(f"{PATH}/count_tokens", orjson.dumps(body), call.headers, call.warnings)


def read_count(body: bytes) -> int:
    """Return the count in *body*.

    Raises:
        UpstreamFailed: There is none.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise unreadable(begun=False) from error
    count = value.get("input_tokens") if isinstance(value, dict) else None
    if not isinstance(count, int):
        raise unreadable(begun=False)
    return count
