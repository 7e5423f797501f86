"""Tells what a failure of the provider means, wherever in an answer it says so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import orjson

from gateway.admission.limits.delays import retry_after
from gateway.upstream.redact import redact
from techniques.core.errors import FailureKind, Said, StreamBroken, UpstreamFailed
from techniques.core.json import Json, JsonObject

_LONGEST = 500  # characters of the provider's words
_LONGEST_NAME = 200
_CONTEXT = ("prompt is too long", "context window", "context length", "context limit")
_QUOTA = ("credit balance is too low", "usage limits", "spend limit", "quota")
_BY_TYPE: Mapping[str, FailureKind] = {
    "invalid_request_error": "rejected",
    "authentication_error": "authentication",
    "billing_error": "quota",
    "permission_error": "rejected",
    "not_found_error": "rejected",
    "request_too_large": "rejected",
    "rate_limit_error": "rate_limited",
    "timeout_error": "timeout",
    "overloaded_error": "overloaded",
    "api_error": "server",
}
_BY_STATUS: Mapping[int, FailureKind] = {
    401: "authentication",
    402: "quota",
    408: "timeout",
    409: "server",
    429: "rate_limited",
    503: "overloaded",
    504: "timeout",
    524: "timeout",
    529: "overloaded",
}
_NOT_FOUND: Final = 404
_NO_MODEL = re.compile(r"(?i)\bmodel\b")
"""What is not found may also be a file, which the client has named."""
_RETRYABLE = frozenset({"rate_limited", "overloaded", "server", "timeout", "invalid_answer"})


def read_failure(status: int, headers: Mapping[str, str], body: bytes) -> UpstreamFailed:
    """Return what an answer with an error *status* means."""
    said = _said(body, status)
    blamed = status < 400 or status >= 500  # no answer and no error: the provider is broken
    kind = _BY_STATUS.get(status, "server" if blamed else "rejected")
    kind = _by_words(kind, said.message)
    if status == _NOT_FOUND and kind == "rejected" and _NO_MODEL.search(said.message):
        kind = "unknown_model"
    return UpstreamFailed(
        said.message or f"The provider answered {status}.",
        kind,
        retryable=kind in _RETRYABLE,
        retry_after=retry_after(headers, datetime.now(UTC).timestamp()),
        said=said,
    )


def failed_inside(body: JsonObject, *, begun: bool) -> UpstreamFailed:
    """Return what the error that *body* holds means, in an answer whose status was 200.

    *begun* tells whether content came before it: the call then cannot be made again unseen.
    """
    said = _read(body, None)
    kind = _by_words(_BY_TYPE.get(said.type or "", "server"), said.message)
    message = said.message or "The provider reported a failure in its answer."
    if begun:
        return StreamBroken(message, kind, said=said)
    return UpstreamFailed(message, kind, retryable=kind in _RETRYABLE, said=said)


def unreadable(*, begun: bool) -> UpstreamFailed:
    """Return that what the provider sent is no answer."""
    message = "The provider's answer cannot be read."
    if begun:
        return StreamBroken(message, "invalid_answer")
    return UpstreamFailed(message, "invalid_answer", retryable=True)


def broken_off() -> StreamBroken:
    """Return that the stream ended before the model had finished."""
    return StreamBroken("The provider's stream ended before the model finished.")


def _by_words(kind: FailureKind, message: str) -> FailureKind:
    if kind not in {"rejected", "rate_limited"}:
        return kind
    words = message.lower()
    if any(mark in words for mark in _QUOTA):
        return "quota"
    if kind == "rejected" and any(mark in words for mark in _CONTEXT):
        return "context_overflow"
    return kind


def _said(body: bytes, status: int) -> Said:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return Said(status, _plain(body.decode("utf-8", "replace")))
    return _read(value, status) if isinstance(value, dict) else Said(status)


def _read(body: JsonObject, status: int | None) -> Said:
    error = body.get("error")
    if not isinstance(error, dict):
        return Said(status, _plain(error if isinstance(error, str) else body.get("message")))
    found = error.get("details")
    details: JsonObject = found if isinstance(found, dict) else {}
    return Said(
        status,
        _plain(error.get("message")),
        type=_name(error.get("type")),
        code=_name(error.get("code") or details.get("error_code")),
        param=_name(error.get("param")),
    )


def _name(word: Json) -> str | None:
    return redact(word[:_LONGEST_NAME]) if isinstance(word, str) else None


def _plain(text: Json) -> str:
    """Return *text* without secrets, "" if it is a document or no text at all."""
    if not isinstance(text, str) or text.lstrip().startswith("<"):
        return ""
    return redact(" ".join(text[: 4 * _LONGEST].split()))[:_LONGEST]
