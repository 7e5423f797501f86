"""Reads how long a provider asks us to wait: by its headers, or in the words of its error."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gateway.admission.limits.page import Page
from gateway.admission.limits.values import LONGEST_S, delay

_DELAY = re.compile(
    r"\"retryDelay\"\s*:\s*\"([0-9][0-9.]{0,20}s)\""
    r"|\b(?:try again|retry)(?: your request)? (?:in|after) (?:about )?"
    r"([0-9][0-9.dhms]{0,30})(?: ?(milliseconds?|seconds?|secs?|minutes?|hours?)\b)?",
    re.IGNORECASE,
)
_UNITS = {"mil": 0.001, "sec": 1.0, "min": 60.0, "hou": 3600.0}


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds to wait that *headers* (lower-case names) ask for, None if for none.

    A moment in the past is 0. *now* is in seconds since the epoch.
    """
    return Page(headers, now).retry_after()


def delay_in(text: str) -> float | None:
    """Return the seconds to wait that an error's *text* asks for, None if for none.

    Google says so in a field of its own, OpenAI, Groq and Azure in a sentence.
    """
    found = _DELAY.search(text)
    if found is None:
        return None
    seconds = delay((found[1] or found[2]).lower().rstrip("."))
    unit = _UNITS.get((found[3] or "s")[:3].lower(), 1.0)
    return None if seconds is None else min(seconds * unit, LONGEST_S)
