"""How long a test waits by the machine's own clock: as long as the slowest of machines may need.

What a test waits for comes at once where it comes, so that patience costs nothing; the bound is
there for what never comes. No test says a number of its own: tests/architecture/test_patience.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import anyio

PATIENCE_S: Final = 120.0
"""Seconds for what must come; what a test proves not to be waited for takes longer than this."""

SOON_S: Final = 20.0
"""Seconds in which all is over that waits for nothing, on a busy machine too: a bound for tests of
what must not be waited for, which would take ``NEVER_S`` or more."""

NEVER_S: Final = 300.0
"""Seconds that no test waits for: how long those are silent whom nobody is to wait for."""

NOON: Final = f"Etc/GMT{datetime.now(UTC).hour - 12:+d}"
"""A time zone in which no day ends while the tests run: it was about noon when they began."""

_LOOK_S: Final = 0.02


def eventually(met: Callable[[], bool], patience_s: float = PATIENCE_S) -> bool:
    """Wait until *met*; tell whether it was, in time."""
    until = time.monotonic() + patience_s
    while not met():
        if time.monotonic() > until:
            return False
        time.sleep(_LOOK_S)
    return True


async def until(met: Callable[[], bool]) -> None:
    """Let others of the loop go on until *met*."""
    with anyio.fail_after(PATIENCE_S):
        while not met():  # noqa: ASYNC110 - what is looked at tells nobody
            await anyio.sleep(0.001)


def shortly() -> float:
    """Return a time of ``time.monotonic`` that is over at once: for who is to be given up."""
    return time.monotonic() + _LOOK_S


def later() -> float:
    """Return a time of ``time.monotonic`` that no call of a test which goes well comes near to."""
    return time.monotonic() + PATIENCE_S
