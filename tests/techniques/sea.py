"""Prose of the sea: answers that no two drawers give alike, and a judge of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from techniques.core.errors import UpstreamFailed
from techniques.core.request import Request
from tests.techniques.scene import Answer, asks, judging

SEA: Final = asks("Tell me of the sea.")
FIRST: Final = "The sea is wide, and it is salty wherever you go and taste of it."
SECOND: Final = "The sea is deep, and what lives far down in it has never seen any light."
THIRD: Final = "The sea is old, older than any of the land that it washes over now."
ALL: Final = "The sea is wide, salty, deep and old."
DOWN: Final = UpstreamFailed("down", "server", retryable=True)


def scoring(
    by_answer: dict[str, Answer], winner: str = ALL, writes: Answer = ALL
) -> Callable[[Request], Answer]:
    """Judge as *by_answer* says, prefer *winner*, and write *writes* where asked to combine."""
    judge = judging(by_answer, winner)
    return lambda request: writes if request.role == "synthesis" else judge(request)
