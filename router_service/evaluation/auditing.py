"""How far the judge is to be believed."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from router_service.evaluation.records import Records
from router_service.evaluation.running import Plan
from router_service.evaluation.samples import Pair, Table
from router_service.evaluation.statistics.distributions import rank_correlation
from techniques.parts.judge import Side, agreed

_RIGHT = 1.0


@dataclass(frozen=True, slots=True)
class Audit:
    """What is known of the judge; None where nothing is.

    ``noise`` is the standard deviation of one score, of ``rescored`` answers that were scored
    twice. ``disagreement`` is how often, of ``swapped`` pairs, it preferred another answer when
    they changed places. ``length_slope`` is the rank correlation of score and length among answers
    that are right. ``all_true`` is the share of scores that are the best there is.
    """

    judged: int
    unparsable: float
    all_true: float | None
    rescored: int
    noise: float | None
    swapped: int
    disagreement: float | None
    right: int
    length_slope: float | None


def audited(plan: Plan, table: Table, records: Records) -> Audit | None:
    """Return what is known of the judge of *plan*; None if nothing was to be judged."""
    pairs = [pair for row in table.pairs.values() for pair in row]
    scored = [pair.grade.judged for pair in pairs if pair.grade.judged is not None]
    unread = sum(pair.grade.unparsable for pair in pairs)
    if not scored and not unread:
        return None
    again = [
        (grade.judged, row.judged)
        for place, row in records.rescores.items()
        if (grade := records.grades.get(place)) is not None
    ]
    known = [(one, two) for one, two in again if one is not None and two is not None]
    turns = _turns(plan, records)
    right = [pair for pair in pairs if pair.grade.exact == _RIGHT and pair.grade.judged is not None]
    return Audit(
        judged=len(scored),
        unparsable=unread / (len(scored) + unread),
        all_true=float(np.mean([one == 1 for one in scored])) if scored else None,
        rescored=len(known),
        noise=_noise(known) if known else None,
        swapped=len(turns),
        disagreement=sum(turns) / len(turns) if turns else None,
        right=len(right),
        length_slope=_length_slope(right),
    )


def _noise(pairs: list[tuple[float, float]]) -> float:
    return sqrt(sum((one - two) ** 2 for one, two in pairs) / len(pairs) / 2)


def _turns(plan: Plan, records: Records) -> list[bool]:
    """Return of each pair that was shown both ways whether the preference changed with it."""
    hashes = {plan.grader.hash(question) for question in plan.questions}
    found = []
    for row in records.swaps.values():
        given, swapped = _side(row.as_given), _side(row.swapped)
        if row.grader_hash in hashes and given is not None and swapped is not None:
            found.append(agreed(given, swapped) != given)
    return found


def _side(said: str | None) -> Side | None:
    sides: tuple[Side, ...] = ("first", "second", "tie")
    return next((side for side in sides if side == said), None)


def _length_slope(right: list[Pair]) -> float | None:
    scores = np.array([pair.grade.judged for pair in right], dtype=float)
    lengths = np.array([len(pair.answer.text) for pair in right], dtype=float)
    return rank_correlation(lengths, scores)
