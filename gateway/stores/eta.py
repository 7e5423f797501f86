"""When a call could probably go, from how its pool stands. A guess, for choosing among accounts."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from gateway.stores.ledger import PoolState, WindowState


def eta_s(state: PoolState, needs: Mapping[str, int]) -> float:
    """Return the seconds until *needs* would fit, infinite if they never will.

    Those who wait already are taken to need as much each; a call in flight to end in a second.
    """
    waits = [
        _wait_s(window, needs[window.name], state.queued)
        for window in state.windows
        if window.name in needs
    ]
    return max(waits, default=0.0)


def _wait_s(window: WindowState, need: int, queued: int) -> float:
    blocked_s = window.blocked_ms / 1000
    if need > window.cap:
        return inf
    lack = min(need + window.margin, window.cap) + queued * need - window.level
    return blocked_s if lack <= 0 else max(blocked_s, _until_s(window, lack))


def _until_s(window: WindowState, lack: float) -> float:
    match window.kind:
        case "bucket":
            return lack / window.rate if window.rate > 0 else inf
        case "fixed":
            return (window.ends_in_ms or 0) / 1000
        case "gauge":
            return 1.0
        case "never":
            return inf
