"""Reads how long a provider asks us to wait."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

_LONGEST_S = 366 * 86_400.0
_DELAY = re.compile(r"(?i)\"retryDelay\"\s*:\s*\"(\d+(?:\.\d+)?)s\"|\bretry in (\d+(?:\.\d+)?)s\b")


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds to wait that *headers* (lower-case names) give, None if they give none.

    ``retry-after-ms`` is finer than ``retry-after`` and goes first, unless it is zero: some hosts
    send a zero beside a true delay. A time in the past is 0. *now* is in seconds since the epoch.
    """
    fine = _seconds(headers.get("retry-after-ms", ""))
    if fine:
        return fine / 1000
    coarse = headers.get("retry-after", "").strip()
    seconds = _seconds(coarse)
    if seconds is None:
        seconds = _until(coarse, now)
    return fine if seconds is None else seconds


def delay_in(text: str) -> float | None:
    """Return the seconds to wait that an error body's *text* names, as Google's RetryInfo does."""
    found = _DELAY.search(text)
    return _seconds(found[1] or found[2]) if found else None


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return min(max(0.0, seconds), _LONGEST_S) if math.isfinite(seconds) else None


def _until(text: str, now: float) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max(0.0, moment.timestamp() - now), _LONGEST_S)
