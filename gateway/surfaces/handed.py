"""What of a provider's headers a client is handed: rate limits, and what finds the call there.

Rate limits go on under their own names, and in the names of the caller's dialect too where the
provider has others. Whose key has limits of its own is told of those instead, unless it is the
account that has refused. Nothing else that a provider sends leaves the gateway.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from gateway.admission.limits import read
from gateway.admission.limits.vendors import sniffed
from gateway.metering.heard import Heard
from gateway.metering.ledger import Ledger
from gateway.surfaces.limits import limits_in, read_limits
from techniques.core.errors import GatewayError, HeldBack, KeyLimited, UpstreamFailed

_LIMITS: Final = (
    *("x-ratelimit", "anthropic-ratelimit-", "ratelimit", "x-tokenlimit-"),
    "anthropic-priority-",
)
"""How the names of headers of limits begin."""
_OWN: Final = {"anthropic": "anthropic-ratelimit-"}
"""How they begin in a dialect; else as in OpenAI's."""
_NUMBER: Final = re.compile(r"[0-9.:hmsTZ+-]{1,32}")
"""What most of them say: an amount, a duration or a time."""
_AS_THEY_ARE: Final = ("openai-processing-ms", "openai-version")
_SAID: Final = ("true", "false")
_IDS: Final = ("x-request-id", "request-id", "apim-request-id", "x-amzn-requestid")
_AN_ID: Final = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")
_LONGEST: Final = 256
_MOST: Final = 48
"""Headers of limits that are handed on; no vendor has so many."""


def handed_on(
    dialect: str, ledger: Ledger, error: GatewayError | None, now: datetime
) -> dict[str, str]:
    """Return the headers for a client of *dialect*; of a failure, *error* is it."""
    heard = ledger.heard
    refused = isinstance(error, UpstreamFailed)
    left = limits_in(dialect, ledger.left, now) if ledger.left else {}
    found = left.copy()
    if heard is not None:
        limits = [name for name in heard.headers if name.startswith(_LIMITS)]
        own = _OWN.get(dialect, "x-ratelimit-")
        if limits and not any(name.startswith(own) for name in limits):
            found |= limits_in(dialect, read_limits(heard.headers, now), now)
        found |= dict(_passed(heard, limits[:_MOST]))
        if refused and heard.headers.get("x-should-retry") in _SAID:
            found["x-should-retry"] = heard.headers["x-should-retry"]
    if ledger.of_key and not refused:
        of_key = ledger.of_key
        found |= left if of_key == ledger.left else limits_in(dialect, of_key, now)
    if ledger.full and isinstance(error, HeldBack | KeyLimited):
        found |= limits_in(dialect, ledger.full, now)
    return found


def told_to_wait(error: GatewayError, ledger: Ledger, now: datetime) -> None:
    """Have *error*, a provider's limit that is reached, say until when, if its headers tell it."""
    heard = ledger.heard
    if heard is None or not isinstance(error, UpstreamFailed) or error.retry_after is not None:
        return
    if error.kind == "rate_limited" and heard.status == 429:
        vendor = sniffed(heard.headers)
        told = read(vendor, heard.headers, status=429, now=now.timestamp(), body=heard.body)
        error.retry_after = told.retry_after_s


def _passed(heard: Heard, limits: Iterable[str]) -> Iterator[tuple[str, str]]:
    for name in (*limits, *_AS_THEY_ARE):
        value = heard.headers.get(name, "").strip()
        if _NUMBER.fullmatch(value):
            yield name, value
        elif value and len(value) <= _LONGEST and value.isascii() and value.isprintable():
            yield name, heard.hide(value)
    named = next((heard.headers[name] for name in _IDS if name in heard.headers), "")
    if _AN_ID.fullmatch(named) and heard.hide(named) == named:
        yield "x-lockgate-upstream-request-id", named
