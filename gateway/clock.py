"""The wall's time, for what is told and kept in it; durations are ``anyio.current_time``'s."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import anyio


def utc_now() -> datetime:
    """Return the present."""
    return datetime.now(UTC)


def loop_time() -> float:
    """Return ``anyio.current_time()``, where asyncio runs without looking for who does."""
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return anyio.current_time()
