"""How likely an answer is right by its score, learned from marked ones: a higher score, no less."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

Knot: TypeAlias = tuple[float, float]
"""A score, and the chance there."""

_PRIOR: Final = 10
"""How many answers what is known of all of them weighs as much as, beside those of one chance."""


@dataclass(slots=True)
class _Block:
    """Answers of neighbouring scores that have one chance; *share* of all answers are right."""

    low: float
    high: float
    right: int
    of: int
    share: float

    @property
    def chance(self) -> float:
        return (self.right + _PRIOR * self.share) / (self.of + _PRIOR)


def isotonic(marks: Iterable[tuple[float, bool]]) -> list[Knot]:
    """Return the chance of being right by score, as *marks* (score, right) tell, in rising order.

    By pooling adjacent violators. Each chance is drawn towards that of all answers: the scores at
    both ends are often those of a few, which would pass for the surest. No chance is 0 or 1.

    Sources: Zadrozny and Elkan 2002, KDD, section 3 (isotonic regression for calibration), and
    2001, ICML, section 3 (m-estimation: few answers are smoothed).
    """
    counts: defaultdict[float, list[bool]] = defaultdict(list)
    for score, right in marks:
        counts[score].append(right)
    every = [right for rights in counts.values() for right in rights]
    share = (sum(every) + 1) / (len(every) + 2)
    blocks: list[_Block] = []
    for score in sorted(counts):
        blocks.append(_Block(score, score, sum(counts[score]), len(counts[score]), share))
        while len(blocks) > 1 and blocks[-2].chance >= blocks[-1].chance:
            last = blocks.pop()
            before = blocks[-1]
            blocks[-1] = _Block(
                before.low, last.high, before.right + last.right, before.of + last.of, share
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
