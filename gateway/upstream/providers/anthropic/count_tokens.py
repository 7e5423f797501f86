"""Asks the provider how many tokens a request has."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from gateway.upstream.provider import HttpCall, Target
from gateway.upstream.providers.anthropic.failure import unreadable
from gateway.upstream.providers.anthropic.foreign import has_foreign, own_only
from gateway.upstream.providers.anthropic.headers import PATH, versioned
from techniques.core.json import NOTHING
from techniques.core.request import Relay

_NOT_COUNTED = frozenset({"max_tokens", "stream"})
"""Fields of a request that the counting endpoint refuses."""


def count_tokens_call(
    relay: Relay, target: Target, client: Mapping[str, str] = NOTHING
) -> HttpCall:
    """Return the call that counts the tokens of *relay* for *target*.

    *client* are those of the client's headers that a provider may see.
    """
    raw = relay.raw
    foreign = has_foreign(relay.body, raw)
    same = relay.body.get("model") == target.model and not foreign
    if raw is None or not same or relay.body.keys() & _NOT_COUNTED:
        body = {name: value for name, value in relay.body.items() if name not in _NOT_COUNTED}
        if foreign:
            body["messages"] = own_only(body["messages"])
        raw = orjson.dumps({**body, "model": target.model})
    return HttpCall(f"{PATH}/count_tokens", raw, versioned(client))


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
