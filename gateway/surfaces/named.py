"""A name for each request: one that its client, its log line and its record share."""

from __future__ import annotations

from secrets import token_hex
from typing import Final

OWN: Final = "x-lockgate-request-id"


def new_name() -> str:
    """Return a name that no other request has."""
    return token_hex(16)


def name_headers(name: str, dialect: str) -> dict[str, str]:
    """Return the headers that tell a client the *name*: ours, and that of its *dialect*."""
    return {OWN: name, "request-id" if dialect == "anthropic" else "x-request-id": name}
