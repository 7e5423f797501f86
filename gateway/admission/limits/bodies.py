"""Reads what a refusal's body tells: the delay, what is full, and windows that no header shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import orjson

from gateway.admission.limits.delays import delay_in
from gateway.admission.limits.pacific import until_midnight
from gateway.admission.limits.page import Page
from gateway.admission.limits.rows import DAY, HOUR, MINUTE
from gateway.admission.limits.values import amount
from gateway.admission.reading import Dimension, Reading

Object: TypeAlias = Mapping[str, Any]

_LARGEST = 65_536
_PERIODS = {"min": MINUTE, "hour": HOUR, "day": DAY}
_WHAT: dict[str, Dimension] = {
    "tokens": "tokens",
    "input tokens": "input_tokens",
    "output tokens": "output_tokens",
    "requests": "requests",
}
_REACHED = re.compile(
    r"\bon ((?:input |output )?tokens|requests) per (min|hour|day)"
    r".{0,30}?\blimit:? ?([0-9]{1,15})(?:[^\"]{0,20}?\b(?:used|current):? ?([0-9]{1,15}))?",
    re.IGNORECASE,
)
_EXCEEDED = re.compile(
    r"\blimit\b[^\"]{0,90}? of ([0-9][0-9,]{0,18})"
    r" ((?:input |output )?tokens|requests) per (min|hour|day)",
    re.IGNORECASE,
)
_KIND = re.compile(
    r"(?P<tokens>\"type\"\s*:\s*\"tokens\"|dynamic_token_limited|\btokens? rate limit)"
    r"|(?P<requests>\"type\"\s*:\s*\"requests\"|dynamic_request_limited"
    r"|\b(?:requests?|call) rate limit)|(?P<concurrency>\bconcurrenc|\bconcurrent )",
    re.IGNORECASE,
)
_KINDS: dict[str, Dimension] = {
    "tokens": "tokens",
    "requests": "requests",
    "concurrency": "concurrency",
}
_PER = re.compile(r"\bper[-_ ](min|hour|day)", re.IGNORECASE)
_QUOTA_LIMIT = re.compile(r"metric: ([\w./]{1,200}), limit: ([0-9]{1,15})")


@dataclass(frozen=True, slots=True)
class Refused:
    """What a body tells.

    Attributes:
        exhausted: See ``Told``.
        headers: Headers of the refusal that a host of hosts passes on.
        day_ends_s: Seconds until a day's quota that is used up begins anew.
    """

    delay_s: float | None = None
    exhausted: tuple[Dimension, float | None] | None = None
    readings: tuple[Reading, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    day_ends_s: float | None = None


_NOTHING = Refused()


def refused(body: bytes, page: Page) -> Refused:
    """Return what *body* tells, of an answer with the headers *page*; never raises."""
    if not body:
        return _NOTHING
    text = body[:_LARGEST].decode("utf-8", "replace")
    if "QuotaFailure" in text:
        return _google(body, text, page.sent())
    window = _window(text)
    if window is not None:
        return Refused(delay_in(text), (window.dimension, window.period_s), (window,))
    kind = _KIND.search(text)
    exhausted: tuple[Dimension, float | None] | None = None
    if kind is not None:
        exhausted = (_KINDS[kind.lastgroup or ""], None)
    headers = _passed_on(body) if '"metadata"' in text else {}
    per = _PER.search(text) if headers else None
    if per is not None:
        exhausted = ("requests", _PERIODS[per[1].lower()])
    return Refused(delay_in(text), exhausted, headers=headers)


def _window(text: str) -> Reading | None:
    """Return the window that the words of OpenAI, Groq or Anthropic name as full."""
    found = _REACHED.search(text)
    if found:
        what, per, limit, used = found[1], found[2], float(found[3]), found[4]
        left = None if used is None else max(0.0, limit - float(used))
    else:
        found = _EXCEEDED.search(text)
        if not found:
            return None
        what, per, left = found[2], found[3], None
        limit = amount(found[1].replace(",", "")) or 0.0
    period = _PERIODS[per.lower()]
    return Reading(_WHAT[what.lower()], period, limit, left, refill="bucket")


def _google(body: bytes, text: str, sent: float) -> Refused:
    limits = dict(_QUOTA_LIMIT.findall(text))
    readings = []
    for violation in _violations(_parsed(body)):
        reading = _quota(violation, limits, sent)
        if reading is not None:
            readings.append(reading)
    days = [row.reset_s for row in readings if row.period_s == DAY and row.reset_s is not None]
    longest = max(readings, key=lambda row: row.period_s or 0.0, default=None)
    return Refused(
        delay_in(text),
        (longest.dimension, longest.period_s) if longest else None,
        tuple(readings),
        day_ends_s=max(days, default=None),
    )


def _quota(violation: Object, limits: Mapping[str, str], sent: float) -> Reading | None:
    name = _text(violation, "quotaId").lower()
    metric = _text(violation, "quotaMetric")
    limit = amount(_text(violation, "quotaValue") or limits.get(metric, ""))
    period = next((length for word, length in _PERIODS.items() if f"per{word}" in name), None)
    if period is None:
        return None
    return Reading(
        _counted(f"{name} {metric.lower()}"),
        period,
        limit,
        0.0,
        until_midnight(sent) if period == DAY else None,
        "fixed" if period == DAY else "unknown",
        "model" if "permodel" in name else "account",
    )


def _counted(words: str) -> Dimension:
    if "token" not in words:
        return "requests"
    if "input" in words:
        return "input_tokens"
    return "output_tokens" if "output" in words else "tokens"


def _violations(answer: object) -> Iterator[Object]:
    if isinstance(answer, list):
        answer = answer[0] if answer else None
    for detail in _list(_object(_object(answer).get("error")).get("details")):
        yield from map(_object, _list(_object(detail).get("violations")))


def _passed_on(body: bytes) -> Mapping[str, str]:
    error = _object(_object(_parsed(body)).get("error"))
    headers = _object(_object(error.get("metadata")).get("headers"))
    return {
        name.lower(): str(value)
        for name, value in headers.items()
        if isinstance(value, str | int | float)
    }


def _parsed(body: bytes) -> object:
    try:
        return orjson.loads(body) if len(body) <= _LARGEST else None
    except orjson.JSONDecodeError:
        return None


def _object(value: object) -> Object:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _text(words: Object, name: str) -> str:
    value = words.get(name)
    return str(value) if isinstance(value, str | int) else ""
