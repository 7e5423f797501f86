"""What an arm is expected to add and to cost before anything was observed: modest on purpose."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from router_service.arms import Arm, arm_of

Sort: TypeAlias = Literal["keyed", "prose", "code", "creative", "tool"]
"""The sorts of request that the table has a column for."""
_SORTS: Final[tuple[Sort, ...]] = ("keyed", "prose", "code", "creative", "tool")
_KEYED: Final = frozenset({"letter", "number", "short", "yes_no"})
_Row: TypeAlias = tuple[float, float, float, float, float]

_POINTS: Final[Mapping[str, Mapping[int, _Row]]] = {
    "self_consistency": {3: (3, 0, 0, -1, 2), 5: (4, 0, 0, -1, 3)},
    "best_of_n": {3: (1.5, 2, 3, 3, 1), 5: (2, 3, 4, 4, 1)},
    "exec_bon": {5: (2, 3, 8, 4, 1)},
    "harq_ir": {2: (-1, 2, 2, 2, 0)},
    "chain_of_verification": {3: (0, 2, -1, -3, 0)},
    "mixture_of_agents": {3: (1, 3, 1, 3, 0)},
    "diversity_mrc": {3: (1, 3, 1, 3, 0)},
}
"""Quality points above the plain call, by technique and size, for each sort."""
_EFFORT: Final[_Row] = (5, 2, 5, 0, 2)
_STRONGER: Final[_Row] = (6, 4, 6, 3, 4)
_LESS_EFFORT: Final = frozenset({"off", "none", "minimal", "low"})
_USUAL_SIZE: Final = 3
_JUDGED: Final = frozenset({"best_of_n", "harq_ir", "mixture_of_agents", "diversity_mrc"})


def sort_of(kind: str, category: str) -> Sort:
    """Return which column of the table a request of *kind* and *category* falls under."""
    if kind == "tool":
        return "tool"
    if category == "creative":
        return "creative"
    if "code" in {category, kind}:
        return "code"
    return "keyed" if kind in _KEYED else "prose"


@lru_cache(maxsize=1024)
def arm_called(name: str) -> Arm:
    """Return the arm of that *name*; one whose name says nothing is a technique of its own."""
    try:
        return arm_of(name)
    except ValueError:
        return Arm(name)


def prior_gain(arm: Arm, sort: Sort, cost: float | None) -> float:
    """Return what *arm* is expected to add to the plain call's quality, 0 to 1.

    Another channel is taken for the stronger one if it costs more than the plain call, for the
    weaker one if it costs less; where the *cost* is not known, for an equal one.
    """
    place = _SORTS.index(sort)
    points = _of_technique(arm)[place]
    if arm.effort:
        points += -_EFFORT[place] if arm.effort in _LESS_EFFORT else _EFFORT[place]
    if arm.channel != Arm().channel and cost is not None:
        per_call = cost / _calls(arm)
        points += _STRONGER[place] * ((per_call > 1) - (per_call < 1))
    return points / 100


def prior_cost(arm: Arm) -> float:
    """Return what *arm* is expected to cost, in plain calls, where nobody said so."""
    return _calls(arm) * (2.0 if arm.effort and arm.effort not in _LESS_EFFORT else 1.0)


def _calls(arm: Arm) -> float:
    """Return about how many calls of its channel *arm* takes, with those of its judge."""
    if arm.technique in {"none", "baseline"}:
        return 1.0
    calls = float(arm.size or _USUAL_SIZE)
    return calls * 1.5 if arm.technique in _JUDGED else calls


@lru_cache(maxsize=1024)
def _of_technique(arm: Arm) -> _Row:
    """Return the row of the nearest size that the table has."""
    sizes = _POINTS.get(arm.technique)
    if sizes is None:
        return (0, 0, 0, 0, 0)
    wanted = arm.size or _USUAL_SIZE
    return sizes[min(sizes, key=lambda size: (abs(size - wanted), size))]
