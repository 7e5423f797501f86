"""Keys that go: when one is told of, and in which words."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

SOON: Final = timedelta(days=14)
"""So long before a key goes its operator is told."""

_DAY: Final = timedelta(days=1)


def goes_soon(expires: datetime | None, now: datetime) -> bool:
    """Return whether a key has gone by *now*, or goes soon."""
    return expires is not None and expires - now <= SOON


def how_soon(expires: datetime, now: datetime) -> str:
    """Return when a key goes, or has gone, as a person says it."""
    at = f"{expires:%Y-%m-%d %H:%M} UTC"
    if expires <= now:
        return f"expired at {at}"
    days = (expires - now) // _DAY
    return f"expires in {days} {'day' if days == 1 else 'days'}, at {at}"
