"""How a request ended, in one word of a fixed list."""

from __future__ import annotations

from techniques.core.errors import (
    DeadlinePassed,
    Denied,
    GatewayError,
    HeldBack,
    KeyLimited,
    RequestRejected,
    RunBusy,
    RunConflict,
    StreamBroken,
    TechniqueFailed,
    Unavailable,
    UpstreamFailed,
)

_WRONG = frozenset({"rejected", "unknown_model", "context_overflow"})
_BY_ERROR: tuple[tuple[type[GatewayError], str], ...] = (
    (HeldBack, "held_back"),
    (StreamBroken, "truncated"),
    (UpstreamFailed, "upstream_error"),
    (RequestRejected, "rejected"),
    (RunConflict, "rejected"),
    (RunBusy, "unavailable"),
    (Denied, "denied"),
    (KeyLimited, "denied"),
    (DeadlinePassed, "deadline"),
    (Unavailable, "unavailable"),
    (TechniqueFailed, "technique_error"),
)


def code_of(error: GatewayError | None) -> str | None:
    """Return a stable name of *error* for the log: ours, never the provider's or a client's."""
    if isinstance(error, UpstreamFailed) and not isinstance(error, HeldBack):
        return error.kind
    return None if error is None else error.code


def outcome_of(error: GatewayError | None, *, left: bool, bug: bool) -> str:
    """Return the outcome of a request that ended with *error*, or without one."""
    if left:
        return "client_disconnect"
    if error is None:
        return "success"
    if bug:
        return "internal_error"
    if isinstance(error, UpstreamFailed) and error.kind in _WRONG:
        return "rejected"
    return next((word for kind, word in _BY_ERROR if isinstance(error, kind)), "internal_error")
