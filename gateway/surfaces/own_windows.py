"""What a key may still take: its own windows, and those that all of its team share."""

from __future__ import annotations

from gateway.admission.names import is_money
from gateway.policy.keys import Caller
from gateway.stores.ledger import PoolState, WindowState
from pricing.cost import dollars
from techniques.core.json import JsonObject


def owned(caller: Caller, state: PoolState) -> list[WindowState]:
    """Return the windows of the pool of *caller* that it may see."""
    mine = (f"{caller.name or ''}:", "*:")
    return [one for one in state.windows if one.name.startswith(mine)]


def own_windows(caller: Caller, state: PoolState) -> list[JsonObject]:
    """Return in short what *caller* may see of its pool."""
    return list(map(_window, owned(caller, state)))


def _window(window: WindowState) -> JsonObject:
    told: JsonObject = {"window": window.name, "kind": window.kind}
    if is_money(window.name):
        left = max(int(window.level), 0)
        return {**told, "cap_usd": dollars(window.cap), "left_usd": dollars(left)}
    return {
        **told,
        "cap": window.cap,
        "level": round(window.level, 3),
        "held": window.held,
        "blocked_ms": window.blocked_ms,
        "ends_in_ms": window.ends_in_ms,
    }
