"""What a failure is that a host of this API reports, by status or inside an answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import orjson

from gateway.admission.limits.delays import delay_in, retry_after
from gateway.upstream.openai.payload import as_list, as_object, as_text, read
from gateway.upstream.redact import redact
from pricing.usage import Usage
from techniques.core.errors import FailureKind, Said, UpstreamFailed
from techniques.core.json import Json, JsonObject

_LONGEST = 500
_LARGEST = 65536
_TOO_OFTEN = 429
_TOO_LARGE = 413
_OVERFLOW = re.compile(
    r"(?i)context_length_exceeded|context length|context window|context size|context limit"
    r"|exceed_context_size|exceeds? the (?:model'?s )?(?:max\w* )?context|too_many_prompt_tokens"
    r"|(?:prompt|input|messages)(?: is)? too long|reduce the length of|token count exceeds"
    r"|input token count .{0,40}exceeds|too many (?:input |prompt )?tokens"
)
_QUOTA = re.compile(
    r"(?i)insufficient[ _](?:quota|balance|credits?|funds)|billing_(?:hard_limit|not_active)"
    r"|account_deactivated|spending[ _]limit|credit limit"
    r"|used all (?:of )?(?:your )?(?:available )?credits|\blimit:? 0\b(?![.\d])"
)
_NO_MODEL = re.compile(
    r"(?i)model[_ ]not[_ ](?:found|available|exist)|model_decommissioned|deploymentnotfound"
    r"|\b(?:no such|unknown|invalid)[_ ]model\b|\bnot a valid model\b"
    r"|\bunable to access .{0,20}model\b|\bno endpoints found for\b"
    r"|\bmodels?[/: ]+[`'\"]?[^\s`'\"]+[`'\"]? "
    r"(?:(?:is |was )?not found|(?:does not|doesn't) exist|(?:is|has been) (?:deprecated|retired))"
)
"""Nobody but the operator names a model to a provider."""
_NEVER_FITS = re.compile(r"(?i)\brequest too large\b")
"""What is more than a minute's tokens is refused as by a rate limit, but no waiting mends it."""
_UNFIT = re.compile(r"(?i)\b(?:image|audio|video) input is not supported")
_BAD_KEY = re.compile(
    r"(?i)invalid[_ ]api[_ ]key|incorrect api key|api[_ ]key not valid|api_key_invalid"
)
_BY_PHRASE: tuple[tuple[frozenset[int | None], re.Pattern[str], FailureKind], ...] = (
    (frozenset({None, 400, 413, 422, 500}), _OVERFLOW, "context_overflow"),
    (frozenset({429}), _NEVER_FITS, "context_overflow"),
    (frozenset({None, 500}), _UNFIT, "rejected"),  # llama.cpp calls it a fault of its own
    (frozenset({None, 402, 403, 429}), _QUOTA, "quota"),
    (frozenset({None, 400, 403}), _BAD_KEY, "authentication"),
    (frozenset({None, 400, 403, 404, 410}), _NO_MODEL, "unknown_model"),
)
"""What an error text says is surer than the status that it came with."""
_BY_STATUS: dict[int, tuple[FailureKind, bool]] = {
    401: ("authentication", False),
    402: ("quota", False),
    403: ("rejected", False),
    408: ("timeout", True),
    409: ("server", True),
    429: ("rate_limited", True),
    498: ("overloaded", True),
    501: ("server", False),
    503: ("overloaded", True),
    504: ("timeout", True),
    524: ("timeout", True),
    529: ("overloaded", True),
}
_REJECTED: tuple[FailureKind, bool] = ("rejected", False)
_BY_WORD: tuple[tuple[str, FailureKind, bool], ...] = (
    ("rate_limit", "rate_limited", True),
    ("resource_exhausted", "rate_limited", True),
    ("overloaded", "overloaded", True),
    ("insufficient_system_resource", "overloaded", True),
    ("timeout", "timeout", True),
    ("authentication", "authentication", False),
    ("permission", "rejected", False),
    ("invalid_request", "rejected", False),
    ("badrequest", "rejected", False),
    ("content_filter", "rejected", False),
)


def failure(status: int, headers: Mapping[str, str], body: bytes) -> UpstreamFailed:
    """Return what an answer with an error *status* means; never raises."""
    said = _said(_parsed(body), status)
    kind, retryable = _classify(said)
    if status >= 500 and kind in {"rejected", "context_overflow"}:
        said = replace(said, type=None)  # it blames the host for the client's mistake
    if status == _TOO_OFTEN and kind == "context_overflow":
        said = replace(said, status=_TOO_LARGE, type=None, code=None)
    wait = retry_after(headers, datetime.now(UTC).timestamp())
    if wait is None and retryable:
        wait = delay_in(body[:_LARGEST].decode("utf-8", "replace"))
    message = said.message or f"HTTP {status} from the provider."
    return UpstreamFailed(message, kind, retryable=retryable, retry_after=wait, said=said)


def is_error(answer: JsonObject) -> bool:
    """Return whether a parsed answer, or chunk of one, reports a failure."""
    return bool(answer.get("error")) or answer.get("object") == "error"


def reported(answer: Json, usage: Usage | None = None) -> UpstreamFailed:
    """Return the failure that *answer*, an object inside a 200 response, reports."""
    said = _said(answer, None, usage)
    kind, retryable = _classify(said)
    message = said.message or "The provider reported a failure inside its answer."
    return UpstreamFailed(message, kind, retryable=retryable, said=said)


def unreadable(what: str, usage: Usage | None = None) -> UpstreamFailed:
    """Return the failure of an answer that *what* is wrong with."""
    said = Said(code="upstream_invalid_response", usage=usage)
    return UpstreamFailed(
        f"The provider's answer {what}.", "invalid_answer", retryable=True, said=said
    )


def _parsed(body: bytes) -> Json:
    text = body[:_LARGEST]
    if len(body) > _LARGEST or text.lstrip()[:1] == b"<" or b"<html" in text.lower():
        return None
    try:
        return read(body)[0]
    except ValueError:
        return text.decode("utf-8", "replace")


def _said(answer: Json, status: int | None, usage: Usage | None = None) -> Said:
    words = _words(answer)
    nested = _nested(words)
    if status is None:
        status = _status_in(words)
    message = _message(words)
    inner = _message(nested)
    if inner and inner not in message:
        message = f"{message}: {inner}" if message else inner
    return Said(
        status=status,
        message=_short(message),
        type=_name(words, "type") or _name(words, "status") or _name(nested, "type"),
        code=_name(words, "code") or _name(nested, "code"),
        param=_name(words, "param") or _name(nested, "param"),
        usage=usage,
    )


def _words(answer: Json) -> JsonObject:
    """Return the error's fields, wherever this host keeps them."""
    if isinstance(answer, list):
        answer = answer[0] if answer else {}
    if isinstance(answer, str):
        return {"message": answer}
    answer = as_object(answer)
    error = answer.get("error") or next(iter(as_list(answer.get("errors"))), None) or answer
    if isinstance(error, list):
        error = error[0] if error else {}
    if isinstance(error, str):
        return {**answer, "message": error}
    return as_object(error)


def _nested(words: JsonObject) -> JsonObject:
    """Return the fields of the error that a host of hosts (OpenRouter) passes on as text."""
    raw = as_object(words.get("metadata")).get("raw")
    if isinstance(raw, str):
        try:
            raw, _ = read(raw.encode("utf-8", "replace"))
        except ValueError:
            return {"message": raw}
    return _words(raw) if raw else {}


def _message(words: JsonObject) -> str:
    for name in ("message", "detail", "msg", "error_description"):
        value = words.get(name)
        if value:
            return value if isinstance(value, str) else _spelled(value)
    return ""


def _spelled(value: Json) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return ""


def _short(message: str) -> str:
    message = message.strip()
    if message[:1] == "<" or "<html" in message.lower():
        return ""
    return redact(message[: 4 * _LONGEST])[:_LONGEST]


def _name(words: JsonObject, name: str) -> str | None:
    """Return a field that names something; a bare HTTP status names nothing."""
    value = as_text(words.get(name))
    return redact(value[:200]) if value and not value.isdecimal() else None


def _status_in(words: JsonObject) -> int | None:
    for name in ("status_code", "status", "code"):
        value = words.get(name)
        if isinstance(value, str) and value.isdecimal():
            value = int(value[:4])
        if isinstance(value, int) and 400 <= value < 600:
            return value
    return None


def _classify(said: Said) -> tuple[FailureKind, bool]:
    names = f"{said.code} {said.type}"
    status = said.status
    text = f"{names} {said.message}"
    if status is not None and status < 400:
        return "server", True  # no answer, and no error: the provider is broken
    for statuses, words, kind in _BY_PHRASE:
        if status in statuses and words.search(text):
            return kind, False
    if status is not None:
        return _BY_STATUS.get(status) or (
            ("server", True) if status >= 500 else ("rejected", False)
        )
    return _by_words(text.lower())


def _by_words(text: str) -> tuple[FailureKind, bool]:
    for word, kind, retryable in _BY_WORD:
        if word in text:
            return kind, retryable
    return "server", True
