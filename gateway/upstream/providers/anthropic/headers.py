"""Where calls go, and the headers that they carry besides the key."""

from __future__ import annotations

from collections.abc import Mapping

from techniques.core.request import Request

DIALECT = "anthropic"
PATH = "/v1/messages"
_VERSION = "2023-06-01"
_CLIENTS_OWN = ("anthropic-version", "anthropic-beta")


def call_headers(request: Request) -> dict[str, str]:
    """Return the headers of a call; a client of this dialect chooses version and betas itself."""
    relay = request.relay
    own = request.dialect == DIALECT or (relay is not None and relay.dialect == DIALECT)
    return versioned(request.headers if own else {})


def versioned(client: Mapping[str, str]) -> dict[str, str]:
    """Return a call's headers, with what of *client*'s the provider may see."""
    headers = {"content-type": "application/json", "anthropic-version": _VERSION}
    headers.update({name: client[name] for name in _CLIENTS_OWN if client.get(name)})
    return headers
