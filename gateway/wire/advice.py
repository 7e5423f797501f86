"""What a failed response says of trying again: truthfully, in the headers that the SDKs read."""

from __future__ import annotations

import math
from typing import Final

from gateway.wire.codings import CODINGS
from techniques.core.errors import (
    BudgetExhausted,
    CapReached,
    DeadlinePassed,
    GatewayError,
    HeldBack,
    KeyLimited,
    NotLearnt,
    RunBusy,
    RunConflict,
    RunSuspended,
    UnknownCoding,
    UpstreamFailed,
)

_RETRIED: Final = frozenset({408, 409, 429})
"""Statuses below 500 that the SDKs try again unless they are told not to."""

LONGEST_S: Final = 60.0
"""The longest wait that the SDKs obey; a longer one they are told not to try."""


def refused_key(error: UpstreamFailed) -> str:
    """Return the words for a provider that does not take the gateway's key, and none of its own."""
    named = f"The provider {error.provider}" if error.provider else "The provider"
    return f"{named} refused the gateway's own credential. Who runs the gateway has to mend it."


def advice(error: GatewayError, status: int) -> dict[str, str]:
    """Return the headers ``retry-after``, ``retry-after-ms`` and ``x-should-retry``, as known.

    ``x-should-retry: false`` stands only where a client would otherwise try again in vain.
    """
    if isinstance(error, RunSuspended):
        return _resumed(error.retry_after)
    if isinstance(error, RunBusy):
        return {"retry-after": str(math.ceil(error.retry_after)), "x-should-retry": "true"}
    if isinstance(error, HeldBack | KeyLimited):
        return _held(error.retry_after)
    if isinstance(error, UnknownCoding):
        return {"accept-encoding": ", ".join(CODINGS)}
    headers = _wait(error)
    if _is_hopeless(error) and (status in _RETRIED or status >= 500 or status == 402):
        headers["x-should-retry"] = "false"
    return headers


def _wait(error: GatewayError) -> dict[str, str]:
    """Return what is said of the time after which a call may work."""
    if not isinstance(error, UpstreamFailed | BudgetExhausted) or error.retry_after is None:
        return {}
    seconds = max(0.0, error.retry_after)
    headers = {"retry-after": str(math.ceil(seconds))}
    if isinstance(error, UpstreamFailed):  # the SDKs look at this first, for it is finer
        headers["retry-after-ms"] = str(math.ceil(1000 * seconds))
    return headers


def _is_hopeless(error: GatewayError) -> bool:
    """Return whether the same call fails again, as far as a client would wait."""
    if isinstance(error, UpstreamFailed):
        return not error.retryable or (error.retry_after or 0.0) > LONGEST_S
    return isinstance(error, (CapReached, DeadlinePassed, NotLearnt, RunConflict))


def _resumed(wait: float | None) -> dict[str, str]:
    """Return what is said of a run that goes on when it is asked for again, in *wait* seconds.

    Asking earlier is no loss, for nothing of it is paid twice: so a client may try in a minute
    also where the wait is longer.
    """
    seconds = 1.0 if wait is None else max(wait, 0.0)
    headers = {} if wait is None else {"x-lockgate-eta-ms": str(math.ceil(1000 * seconds))}
    sooner = min(seconds, LONGEST_S)
    return headers | {
        "retry-after": str(math.ceil(sooner)),
        "retry-after-ms": str(math.ceil(1000 * sooner)),
        "x-should-retry": "true",
    }


def _held(wait: float | None) -> dict[str, str]:
    """Return what is said of a call that was not made, and could be made in *wait* seconds."""
    if wait is None:
        return {}
    milliseconds = math.ceil(1000 * max(wait, 0.0))
    headers = {"x-lockgate-eta-ms": str(milliseconds)}
    if wait > LONGEST_S:
        return headers | {"retry-after": str(int(LONGEST_S)), "x-should-retry": "false"}
    return headers | {
        "retry-after": str(math.ceil(milliseconds / 1000)),
        "retry-after-ms": str(milliseconds),
        "x-should-retry": "true",
    }
