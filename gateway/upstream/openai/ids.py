"""The ids of calls, as OpenAI's APIs take them."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

_LONGEST: Final = 64


def call_id(own: str) -> str:
    """Return the id of a call as these APIs take it: at most 64 characters, the same each time."""
    if len(own) <= _LONGEST:
        return own
    mark = sha256(own.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{own[:40]}_{mark}"
