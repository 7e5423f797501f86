"""Reads single values: amounts, delays and moments. What cannot be read is None, never an error."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

LONGEST_S = 366 * 86_400.0
_DIGITS = 15  # beyond it a float is no longer exact
_LARGEST_DELAY = 1e7
_EPOCH_S = (1e9, 2e10)
_EPOCH_MS = 1e11
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,18})?")
_NEGATIVE = re.compile(r"-[0-9]{1,15}(?:\.[0-9]{1,18})?")
_DURATION = re.compile(
    r"(?:([0-9]{1,6})d)?(?:([0-9]{1,6})h)?(?:([0-9]{1,8})m)?"
    r"(?:([0-9]{1,10}(?:\.[0-9]{1,18})?)s)?(?:([0-9]{1,12}(?:\.[0-9]{1,18})?)ms)?"
)


def amount(text: str) -> float | None:
    """Return the number that *text* is; a negative one is none."""
    if text.isdigit() and text.isascii() and len(text) <= _DIGITS:
        return float(text)
    return float(text) if _NUMBER.fullmatch(text) else None


@lru_cache(maxsize=4096)
def delay(text: str) -> float | None:
    """Return the seconds that *text* says: a small number, or a duration such as ``2m59.56s``.

    What is negative is over: 0.
    """
    if text[-1:] == "s":
        milliseconds = text[-2:-1] == "m"
        part = amount(text[:-2] if milliseconds else text[:-1])
        if part is None:
            return _duration(text)
        return min(part / 1000 if milliseconds else part, LONGEST_S)
    seconds = amount(text)
    if seconds is not None:
        return seconds if seconds < _LARGEST_DELAY else None
    return _duration(text)


def _duration(text: str) -> float | None:
    found = _DURATION.fullmatch(text) if text else None
    if found is None:
        return 0.0 if _NEGATIVE.fullmatch(text) else None
    days, hours, minutes, seconds, milliseconds = found.groups("0")
    whole = 86_400 * int(days) + 3600 * int(hours) + 60 * int(minutes)
    return min(whole + float(seconds) + float(milliseconds) / 1000, LONGEST_S)


@lru_cache(maxsize=1024)
def moment(text: str) -> float | None:
    """Return the time that *text* is, in seconds since the epoch.

    It is that number, or one of milliseconds, or a date as RFC 3339, RFC 1123 or asctime write it.
    """
    number = None if _is_iso(text) else amount(text)
    if number is None:
        return _date(text) if text.isascii() and 19 <= len(text) <= 40 else None
    if number >= _EPOCH_MS:
        return number / 1000
    return number if _EPOCH_S[0] <= number <= _EPOCH_S[1] else None


def _date(text: str) -> float | None:
    try:
        if _is_iso(text):
            found = datetime.fromisoformat(text.upper())
        else:
            found = parsedate_to_datetime(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _is_iso(text: str) -> bool:
    return text[4:5] == "-"
