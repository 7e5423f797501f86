"""Spells a request for its provider: beside the loop where it has very many turns."""

from __future__ import annotations

from functools import partial
from typing import Final

from gateway.upstream.provider import HttpCall, Provider, Target
from router_service.groundwork.aside import MANY, aside, is_heavy
from techniques.core.relayed import EMBEDDING
from techniques.core.request import Request

_LISTS: Final = ("messages", "input")


async def spelled(provider: Provider, request: Request, target: Target) -> HttpCall:
    """Return the call that asks *target* what *request* asks."""
    work = partial(provider.encode, request, target)
    return await aside(work, heavy=_is_heavy(request))


def _is_heavy(request: Request) -> bool:
    relay = request.relay
    if relay is None:
        turns = request.messages
        return len(turns) > MANY or sum(len(turn.parts) for turn in turns) > MANY
    if request.role == EMBEDDING:  # which are cut into calls of a few
        return False
    if relay.raw is not None:
        return is_heavy(relay.raw)
    said = (relay.body.get(name) for name in _LISTS)
    return any(isinstance(one, list) and len(one) > MANY for one in said)
