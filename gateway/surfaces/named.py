"""A name for each request: one that its client, its log line and its record share."""

from __future__ import annotations

import os
from secrets import token_hex
from time import time_ns
from typing import Final

OWN: Final = "x-lockgate-request-id"
_RANDOM: Final = 20
"""Digits of a name that are random."""
_AT_ONCE: Final = 256
_DRAWN: Final[list[str]] = []
"""Random digits for the next names: to ask the system for some costs more than all else here."""
os.register_at_fork(after_in_child=_DRAWN.clear)


def new_name() -> str:
    """Return a name that no other request has: 32 hex digits that grow with the time.

    So rows that are named by it go in at the end of an index of the database, and not anywhere.
    Source: the layout of a UUID of version 7 (RFC 9562, section 5.7), without its marks.
    """
    try:
        random = _DRAWN.pop()
    except IndexError:
        drawn = token_hex(_AT_ONCE * _RANDOM // 2)
        _DRAWN.extend([drawn[at : at + _RANDOM] for at in range(_RANDOM, len(drawn), _RANDOM)])
        random = drawn[:_RANDOM]
    return f"{time_ns() // 1_000_000:012x}{random}"


def name_headers(name: str, dialect: str) -> dict[str, str]:
    """Return the headers that tell a client the *name*: ours, and that of its *dialect*."""
    return {OWN: name, "request-id" if dialect == "anthropic" else "x-request-id": name}
