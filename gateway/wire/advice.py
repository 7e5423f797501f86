"""What a failed response says of trying again: truthfully, in the headers that the SDKs read."""

from __future__ import annotations

import math
from typing import Final

from techniques.core.errors import (
    BudgetExhausted,
    CapReached,
    DeadlinePassed,
    GatewayError,
    HeldBack,
    KeyLimited,
    UpstreamFailed,
)

_RETRIED: Final = frozenset({408, 409, 429})
"""Statuses below 500 that the SDKs try again unless they are told not to."""


LONGEST_S: Final = 60.0
"""The longest wait that the SDKs obey; a longer one they are told not to try."""


def advice(error: GatewayError, status: int) -> dict[str, str]:
    """Return the headers ``retry-after`` (whole seconds) and ``x-should-retry``, as far as known.

    ``x-should-retry: false`` stands only where a client would otherwise try again in vain.
    """
    if isinstance(error, HeldBack | KeyLimited):
        return _held(error.retry_after)
    headers: dict[str, str] = {}
    if isinstance(error, UpstreamFailed | BudgetExhausted) and error.retry_after is not None:
        headers["retry-after"] = str(math.ceil(max(0.0, error.retry_after)))
    if isinstance(error, UpstreamFailed):
        hopeless = not error.retryable or (error.retry_after or 0.0) > LONGEST_S
    else:
        hopeless = isinstance(error, (CapReached, DeadlinePassed))
    if hopeless and (status in _RETRIED or status >= 500 or status == 402):
        headers["x-should-retry"] = "false"
    return headers


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
