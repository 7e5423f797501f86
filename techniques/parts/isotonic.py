"""How likely an answer is right by its score, learned from marked ones: a higher score, no less."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Knot: TypeAlias = tuple[float, float]
"""A score, and the chance there."""


@dataclass(slots=True)
class _Block:
    """Answers of neighbouring scores that have one chance."""

    low: float
    high: float
    right: int
    of: int

    @property
    def chance(self) -> float:
        return (self.right + 1) / (self.of + 2)


def isotonic(marks: Iterable[tuple[float, bool]]) -> list[Knot]:
    """Return the chance of being right by score, as *marks* (score, right) tell, in rising order.

    By pooling adjacent violators. No chance is 0 or 1, however many answers say so (Laplace).

    Source: Zadrozny and Elkan 2002, KDD, section 3 (isotonic regression for calibration).
    """
    counts: defaultdict[float, list[bool]] = defaultdict(list)
    for score, right in marks:
        counts[score].append(right)
    blocks: list[_Block] = []
    for score in sorted(counts):
        blocks.append(_Block(score, score, sum(counts[score]), len(counts[score])))
        while len(blocks) > 1 and blocks[-2].chance >= blocks[-1].chance:
            last = blocks.pop()
            before = blocks[-1]
            blocks[-1] = _Block(
                before.low, last.high, before.right + last.right, before.of + last.of
            )
    return [knot for block in blocks for knot in _ends(block)]


def chance_at(knots: Sequence[Knot], score: float) -> float:
    """Return the chance at *score*: between two *knots* on the line, outside that of the end."""
    place = bisect_left([knot[0] for knot in knots], score)
    if place == 0:
        return knots[0][1]
    if place == len(knots):
        return knots[-1][1]
    (low, below), (high, above) = knots[place - 1], knots[place]
    return below + (above - below) * (score - low) / (high - low)


def _ends(block: _Block) -> list[Knot]:
    knots = [(block.low, block.chance), (block.high, block.chance)]
    return knots[: 1 if block.low == block.high else 2]
