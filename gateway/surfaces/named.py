"""A name for each request: one that its client, its log line and its record share."""

from __future__ import annotations

from secrets import token_hex
from time import time_ns
from typing import Final

OWN: Final = "x-lockgate-request-id"


def new_name() -> str:
    """Return a name that no other request has: 32 hex digits that grow with the time.

    So rows that are named by it go in at the end of an index of the database, and not anywhere.
    Source: the layout of a UUID of version 7 (RFC 9562, section 5.7), without its marks.
    """
    return f"{time_ns() // 1_000_000:012x}{token_hex(10)}"


def name_headers(name: str, dialect: str) -> dict[str, str]:
    """Return the headers that tell a client the *name*: ours, and that of its *dialect*."""
    return {OWN: name, "request-id" if dialect == "anthropic" else "x-request-id": name}
