"""Ids of calls and names of tools, as OpenAI's APIs take them: not longer than so much."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

OF_CHAT: Final = 40
OF_RESPONSES: Final = 64
_MARK: Final = 16
"""Characters of the digest that tells those apart which begin alike."""


def shortened(own: str, most: int, marked: int = _MARK) -> str:
    """Return *own* with at most *most* characters, the last *marked* a digest; the same each time.

    What is short enough stays as it is.
    """
    if len(own) <= most:
        return own
    mark = sha256(own.encode("utf-8", "surrogatepass")).hexdigest()[:marked]
    return f"{own[: most - marked - 1]}_{mark}"
