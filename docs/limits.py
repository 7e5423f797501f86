"""What the documents show of rate limits: whose headers are read, and what they mean."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gateway.admission.limits import VENDORS, Vendor
from gateway.admission.limits.rows import Charge, Window

_PERIODS: Final = {1: "second", 60: "minute", 3600: "hour", 86_400: "day", 2_592_000: "month"}
_REFILLS: Final = {"bucket": "continuously", "fixed": "at once", "unknown": "not said"}
_CHARGES: Final[dict[Charge, str]] = {
    "reserve_max": "what it may produce",
    "reserve_larger": "what it may produce, or its size if that is more",
    "actual": "what it produces",
    "unknown": "not known",
}
_EXTRAS: Final = {
    "unified": "`anthropic-ratelimit-unified-…`",
    "ietf": "`ratelimit`, `ratelimit-policy`, `ratelimit-…`",
}
_EXTRA_WINDOWS: Final = {
    "unified": "all of an account per 5 hours and per 7 days",
    "ietf": "what they say, of the account",
}
_PART: Final = re.compile(r"(?<![a-z])limit(?![a-z])")
HEAD: Final = ("vendor", "its hosts", "headers", "windows", "filled", "charged for a call", "traps")


def rows() -> Iterator[tuple[str, ...]]:
    """Yield a row for each vendor."""
    for vendor in VENDORS.values():
        yield (
            f"`{vendor.name}`",
            ", ".join(f"`{host}`" for host in vendor.hosts) or "-",
            ", ".join((*map(_headers, vendor.windows), *(_EXTRAS[e] for e in vendor.extra))) or "-",
            _joined(_windows(vendor)),
            _joined(_REFILLS[row.refill] for row in vendor.windows),
            _charged(vendor),
            vendor.traps,
        )


def _joined(words: Iterator[str]) -> str:
    return ", ".join(dict.fromkeys(words)) or "-"


def _windows(vendor: Vendor) -> Iterator[str]:
    yield from (f"{_what(row)} per {_length(row)}" for row in vendor.windows)
    yield from (_EXTRA_WINDOWS[form] for form in vendor.extra)


def _what(row: Window) -> str:
    counted = row.dimension.replace("_", " ")
    return f"{counted} of the account" if row.scope == "account" else counted


def _length(row: Window) -> str:
    length = _PERIODS.get(int(row.period_s), f"{row.period_s:.0f} seconds")
    return f"{length} or longer" if row.period_by_reset else length


def _charged(vendor: Vendor) -> str:
    more = (
        ("cached input is free", vendor.cached_input_free),
        ("refused requests count", vendor.failed_counts),
    )
    return "; ".join((_CHARGES[vendor.charge], *(text for text, holds in more if holds)))


def _headers(row: Window) -> str:
    """Return the names of a window's headers in short: what differs in braces."""
    if not row.limit:
        return f"`{row.remaining or row.reset}`"
    return "`" + _PART.sub("{limit,remaining,reset}", row.limit) + "`"
