"""What the headers of a client's request say, beside what it wishes for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_FORWARDED: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic": ("anthropic-beta", "anthropic-version")
}
"""Client headers that a provider of the same dialect may see; no other leaves the gateway."""


def forwarded(headers: Mapping[str, str], dialect: str) -> Mapping[str, str]:
    """Return those of the client's *headers* that a provider of *dialect* may see."""
    return {name: headers[name] for name in _FORWARDED.get(dialect, ()) if name in headers}


def attempted(headers: Mapping[str, str]) -> int:
    """Return how often the client's SDK has tried before."""
    count = headers.get("x-stainless-retry-count", "")
    return int(count) if count.isdecimal() and len(count) < 4 else 0


def reads_for_s(headers: Mapping[str, str]) -> float | None:
    """Return after how many seconds without a word the client's SDK gives up, if it says so."""
    said = headers.get("x-stainless-read-timeout") or headers.get("x-stainless-timeout") or ""
    if not said or len(said) > 12 or not said.replace(".", "", 1).isdecimal():
        return None
    return float(said)
