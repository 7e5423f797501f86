"""What the name of a window tells: ``OWNER:DIMENSION:PERIOD``; the owner may have colons."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=4096)
def dimension_of(window: str) -> str:
    """Return what *window* counts; ``usd`` is money."""
    return window.rsplit(":", 2)[1]


def is_money(window: str) -> bool:
    """Return whether *window* is a budget's."""
    return dimension_of(window) == "usd"
