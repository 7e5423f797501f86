"""The wall's time, for what is told and kept in it; durations are ``anyio.current_time``'s."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> datetime:
    """Return the present."""
    return datetime.now(UTC)
