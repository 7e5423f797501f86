"""Words every failure for clients of the Messages API."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from gateway.wire.advice import advice, refused_key
from gateway.wire.dialect import Failure
from techniques.core.errors import (
    CapReached,
    DeadlinePassed,
    Denied,
    FailureKind,
    GatewayError,
    HeldBack,
    KeyLimited,
    NotLearnt,
    OverLimit,
    RequestRejected,
    RunBusy,
    RunConflict,
    StreamBroken,
    TechniqueFailed,
    TooLarge,
    Unauthenticated,
    Unavailable,
    UnknownCoding,
    UnknownModel,
    UpstreamFailed,
)
from techniques.core.json import JsonObject

_LONGEST = 500  # characters of a message
_TYPES: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "invalid_request_error",
    413: "request_too_large",
    415: "invalid_request_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""The error type of a status; every other is an ``api_error``."""
_CODES: Mapping[FailureKind, str] = {
    "quota": "insufficient_quota",
    "context_overflow": "context_length_exceeded",
    "authentication": "upstream_authentication",
}
"""Names that this API has no type for, of failures whose provider gave none."""
_PASSED_ON = frozenset({400, 403, 404, 409, 413, 422})
"""Statuses of a provider that tell the client something about its own request."""
_CALLER: tuple[tuple[type[GatewayError], int], ...] = (
    (Unauthenticated, 401),
    (Denied, 403),
    (UnknownModel, 404),
    (TooLarge, 413),
    (UnknownCoding, 415),
    (CapReached, 402),
    (OverLimit, 413),
    (NotLearnt, 409),
    (RequestRejected, 400),
    (RunConflict, 409),
    (RunBusy, 409),
    (KeyLimited, 429),
    (DeadlinePassed, 408),
    (Unavailable, 503),
    (TechniqueFailed, 502),
)
"""The first class that fits gives the status; the rest are a bug of ours, 500."""


def encode_failure(error: GatewayError) -> Failure:
    """Return the response that tells a client of *error*, with what it says about retrying."""
    status = _status(error)
    body = orjson.dumps({"type": "error", "error": error_object(error)})
    return Failure(status, body, advice(error, status), names_request=True)


def error_object(error: GatewayError) -> JsonObject:
    """Return the ``error`` object of a response or of an ``error`` event."""
    if isinstance(error, UpstreamFailed) and error.kind == "authentication":
        details = {"error_code": _CODES[error.kind]}
        return {"type": "api_error", "message": refused_key(error), "details": details}
    kind = _TYPES.get(_class(error), "api_error")
    said: JsonObject = {"type": kind, "message": _message(error)[:_LONGEST]}
    if code := _code(error):
        said["details"] = {"error_code": code}
    return said


def _code(error: GatewayError) -> str | None:
    """Return what programs call *error*: the provider's own name for it, where it has one."""
    if isinstance(error, UpstreamFailed) and not isinstance(error, HeldBack):
        barred = error.kind == "rejected" and error.said.status == 403
        return error.said.code or ("upstream_forbidden" if barred else _CODES.get(error.kind))
    return error.code


def _message(error: GatewayError) -> str:
    said = error.said.message if isinstance(error, UpstreamFailed) else ""
    return said or error.message


def _class(error: GatewayError) -> int:
    """Return the status that names *error* best, also where the response has another."""
    if isinstance(error, StreamBroken):
        return _upstream_class(error)
    return _status(error)


def _status(error: GatewayError) -> int:
    if isinstance(error, StreamBroken):
        return 502
    if isinstance(error, UpstreamFailed):
        return _upstream_class(error)
    return next((status for kind, status in _CALLER if isinstance(error, kind)), 500)


def _upstream_class(error: UpstreamFailed) -> int:
    match error.kind:
        case "rate_limited" | "quota":
            return 402 if error.said.status == 402 else 429  # which this API has a name for
        case "overloaded":
            return 529
        case "timeout":
            return 504
        case "rejected" | "unknown_model" | "context_overflow" as kind:
            status = error.said.status
            return status if status in _PASSED_ON else 404 if kind == "unknown_model" else 400
        case _:  # a conflict may be over when the call is made again
            return 409 if error.said.status == 409 else 502
