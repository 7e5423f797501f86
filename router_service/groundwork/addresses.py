"""How the address of a database is written."""

from __future__ import annotations

import re
from typing import Final

_DRIVERS: Final = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg"}
_URL: Final = re.compile(r"(\w+)(?:\+\w+)?(:.+)", re.DOTALL)


def driven(url: str) -> str:
    """Return *url*, ``sqlite:///PATH`` or ``postgresql://USER@HOST/NAME``, with its driver.

    Raises:
        ValueError: It is neither.
    """
    match = _URL.fullmatch(url)
    driver = _DRIVERS.get(match[1]) if match else None
    if match is None or driver is None or url.endswith((":///", ":memory:", "sqlite://")):
        raise ValueError("write sqlite:///PATH or postgresql://USER@HOST/NAME")
    return driver + match[2]
