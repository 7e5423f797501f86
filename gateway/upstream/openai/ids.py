"""The ids of calls, as OpenAI's APIs take them: no longer than so many characters."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

OF_CHAT: Final = 40
OF_RESPONSES: Final = 64
_MARK: Final = 16


def shortened(own: str, most: int) -> str:
    """Return *own* with at most *most* characters, the same each time."""
    if len(own) <= most:
        return own
    mark = sha256(own.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK]
    return f"{own[: most - _MARK - 1]}_{mark}"
