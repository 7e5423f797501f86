"""Words each failure as this API does."""

from __future__ import annotations

from typing import NamedTuple

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
    TechniqueFailed,
    TooLarge,
    Unauthenticated,
    Unavailable,
    UnknownCoding,
    UnknownModel,
    UpstreamFailed,
)
from techniques.core.json import JsonObject

_LONGEST = 500
_KEPT = frozenset({400, 404, 409, 413, 422})


class _Words(NamedTuple):
    """How a failure is told: ``code`` None means the error's own."""

    status: int
    type: str
    code: str | None = None


_OURS: tuple[tuple[type[GatewayError], _Words], ...] = (
    (UnknownModel, _Words(404, "invalid_request_error")),
    (TooLarge, _Words(413, "invalid_request_error")),
    (UnknownCoding, _Words(415, "invalid_request_error")),
    (CapReached, _Words(402, "billing_error")),
    (OverLimit, _Words(413, "invalid_request_error")),
    (NotLearnt, _Words(409, "invalid_request_error")),
    (RequestRejected, _Words(400, "invalid_request_error")),
    (Unauthenticated, _Words(401, "invalid_request_error")),
    (Denied, _Words(403, "permission_error")),
    (RunConflict, _Words(409, "invalid_request_error")),
    (RunBusy, _Words(409, "conflict_error")),
    (KeyLimited, _Words(429, "rate_limit_error")),
    (DeadlinePassed, _Words(408, "timeout_error")),
    (Unavailable, _Words(503, "service_unavailable_error")),
    (TechniqueFailed, _Words(502, "technique_error")),
)
"""The narrower class first."""
_UNNAMED = {"not_found_error": "model_not_found"}
"""Codes of what Anthropic has a type for and no code: a call names nothing but a model."""
_UPSTREAM: dict[FailureKind, _Words] = {
    "authentication": _Words(502, "upstream_error", "upstream_authentication"),
    "rate_limited": _Words(429, "rate_limit_error", "rate_limit_exceeded"),
    "quota": _Words(429, "insufficient_quota", "insufficient_quota"),
    "overloaded": _Words(503, "overloaded_error", "upstream_overloaded"),
    "timeout": _Words(504, "timeout_error", "upstream_timeout"),
    "invalid_answer": _Words(502, "upstream_error", "upstream_invalid_response"),
    "context_overflow": _Words(400, "invalid_request_error", "context_length_exceeded"),
    "rejected": _Words(400, "invalid_request_error", "upstream_rejected"),
    "unknown_model": _Words(404, "invalid_request_error", "model_not_found"),
    "server": _Words(502, "upstream_error", None),
    "transport": _Words(502, "upstream_error", None),
}


def failure(error: GatewayError) -> Failure:
    """Return the response that tells a client of *error*."""
    status = _words(error).status
    return Failure(status, orjson.dumps(error_of(error)), advice(error, status))


def error_of(error: GatewayError) -> JsonObject:
    """Return the error object of *error*."""
    words = _words(error)
    kind, code, message = words.type, words.code or error.code, error.message
    if isinstance(error, UpstreamFailed):
        message = _message(error, words)
        if error.kind not in {"authentication", "invalid_answer"}:
            kind = error.said.type or kind
            code = error.said.code or _UNNAMED.get(kind) or code
    return {"error": {"message": message, "type": kind, "param": error.param, "code": code}}


def _words(error: GatewayError) -> _Words:
    if isinstance(error, UpstreamFailed):
        return _upstream(error)
    ours = (words for kind, words in _OURS if isinstance(error, kind))
    return next(ours, _Words(500, "server_error"))


def _upstream(error: UpstreamFailed) -> _Words:
    words = _UPSTREAM[error.kind]
    if isinstance(error, HeldBack):
        return words._replace(code=error.code)
    status = error.said.status
    if error.kind in {"rejected", "unknown_model"} and status == 403:
        return _Words(403, "permission_error", "upstream_forbidden")
    if (
        error.kind in {"rejected", "unknown_model", "context_overflow", "server"}
        and status in _KEPT
    ):
        return words._replace(status=status, type="invalid_request_error")
    return words


def _message(error: UpstreamFailed, words: _Words) -> str:
    """Return short plain text: neither a document nor a word of the gateway's own key."""
    if error.kind == "authentication":
        return refused_key(error)
    text = error.said.message or error.message
    if "<html" in text.lower() or text.lstrip()[:1] == "<":
        text = f"HTTP {error.said.status or words.status} from the provider."
    return text[:_LONGEST]
