"""Experience as one set of models sees it: what each row says of its arm, and with what weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from router_service.arms import PLAIN
from router_service.estimating.experience import LEVELS, Columns, Experience
from router_service.estimating.levels import fitted
from router_service.estimating.partition import Codes, Numbers
from router_service.estimating.pools import weight
from router_service.estimating.priors import arm_called, prior_gain, sort_of

_DAY: Final = 86_400.0
_UNPAIRED: Final = 0.5
_BELIEF: Final = 2.0
_LEAST_WEIGHT: Final = 1e-3
_MIDDLE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Entries:
    """One entry a row that counts, and one a request whose plain quality is known.

    ``arm`` is the row's code, or, for a plain quality, ``plain``, the code after the last one.
    ``value`` is what is to be learnt beyond ``prior``: the gain over the plain call, or the plain
    quality itself. ``counts`` is the weight of the value, 0 where there is none, ``costs`` that of
    the ``cost`` (a logarithm).
    """

    plain: int
    row: Codes
    arm: Codes
    request: Codes
    groups: Codes
    value: Numbers
    prior: Numbers
    counts: Numbers
    cost: Numbers
    costs: Numbers
    latency: Numbers
    middle: float


def entries(known: Experience, profile: str, half_life_days: float) -> Entries:
    """Return what *known* says to the models of *profile*."""
    columns = known.columns
    trust = _trust(known, profile, half_life_days)
    plain, arms = len(known.arms), columns.arm
    none = known.arms.get(PLAIN.name, -1)
    asked, told, base = _plain(columns, trust, none, len(known.requests))
    middle = float(np.average(told, weights=trust[asked])) if len(asked) else _MIDDLE
    row = np.concatenate([np.flatnonzero((arms != none) & (trust > _LEAST_WEIGHT)), asked])
    mine = slice(len(row) - len(asked), None)
    guess = _usual(columns, (asked, told - middle, trust[asked]), middle)
    gain, luck, sure = _gains(columns, base, guess)
    arm = arms[row]
    arm[mine] = plain
    value = gain[row]
    value[mine] = told
    counts = np.where(np.isnan(value), 0.0, trust[row] * sure[row])
    counts[mine] = trust[asked]
    costs = np.where(np.isnan(columns.cost[row]), 0.0, trust[row])
    costs[mine] = 0.0
    prior = _priors(known, row, arm, columns.cost)
    prior[mine] = middle
    luck = np.where(arm == plain, 0.0, luck[row])
    value = np.nan_to_num(value - prior)
    value -= _owed(value, luck, counts, (arm, columns.groups[row]))
    return Entries(
        plain,
        row.astype(np.int32),
        arm,
        columns.request[row],
        columns.groups[row],
        value,
        prior,
        counts,
        np.nan_to_num(columns.cost[row]),
        costs,
        columns.latency[row],
        middle,
    )


def _trust(known: Experience, profile: str, half_life_days: float) -> Numbers:
    """Return how much each row counts for *profile*: how sure, how old and of which models."""
    columns = known.columns
    pools = np.array([weight(profile, each) for each in known.pools], np.float64)
    if not len(columns.at):
        return columns.weight
    age: Numbers = (columns.at.max() - columns.at) / _DAY
    return columns.weight * pools[columns.pool] * np.exp2(-age / half_life_days)


def _plain(
    columns: Columns, trust: Numbers, none: int, requests: int
) -> tuple[Codes, Numbers, Numbers]:
    """Return the rows of requests with a known plain quality (one each), that, and all of them.

    The last has an entry for each request's code, NaN where it is not known.
    """
    said = np.where(columns.arm == none, columns.quality, columns.plain)
    rows = np.flatnonzero(~np.isnan(said) & (trust > _LEAST_WEIGHT))
    counts = np.bincount(columns.request[rows], trust[rows], requests)
    sums = np.bincount(columns.request[rows], trust[rows] * said[rows], requests)
    base = np.divide(sums, counts, out=np.full(requests, np.nan), where=counts > 0)
    asked, first = np.unique(columns.request[rows], return_index=True)
    return rows[first].astype(np.int32), base[asked], base


def _usual(columns: Columns, told: tuple[Codes, Numbers, Numbers], middle: float) -> Numbers | None:
    """Return what plain calls of such requests came to, for each row; None where none is known.

    *told* are the requests of which it is known, by how much each was above the *middle*, and the
    weights.
    """
    asked, above, trust = told
    if not len(asked):
        return None
    nobody = np.zeros(len(asked), np.int32)
    levels, _ = fitted(above, trust, nobody, columns.groups[asked])
    kinds, inverse = np.unique(columns.groups, axis=0, return_inverse=True)
    guesses = np.array([middle + levels.at(0, tuple(each)) for each in kinds], np.float64)
    return guesses[inverse.reshape(-1)]


def _gains(
    columns: Columns, base: Numbers, guess: Numbers | None
) -> tuple[Numbers, Numbers, Numbers]:
    """Return the gain of each row over its plain call, its luck, and its share.

    Where the plain call's quality is not known, it is *guess*: what those of such requests came
    to. Such a row counts less. Luck is how far the plain answer was below what is guessed.
    """
    paired = np.where(np.isnan(columns.plain), base[columns.request], columns.plain)
    missing = np.isnan(paired) & ~np.isnan(columns.quality)
    luck = np.zeros(len(paired))
    if guess is not None:
        luck = np.nan_to_num(guess - paired)
        paired = np.where(missing, guess, paired)
    return columns.quality - paired, luck, np.where(missing, _UNPAIRED, 1.0)


def _owed(value: Numbers, luck: Numbers, counts: Numbers, of: tuple[Codes, Codes]) -> Numbers:
    """Return what of each *value* an arm owes to *luck*: of its rows in the same groups, the mean.

    Where the plain answers beside which it was tried happened to be bad, it seems to gain much.
    What other answers to the same requests share of that is no luck: those requests were hard.
    """
    unshared = (1 - _shared(value - luck, luck, of[0], counts)) * luck
    _, cell = np.unique(np.column_stack(of), axis=0, return_inverse=True)
    return _mean_of(unshared, counts, cell.reshape(-1).astype(np.int32))


def _shared(own: Numbers, luck: Numbers, arm: Codes, counts: Numbers) -> float:
    """Return how much of the *luck* of a plain answer the others to the same request have, too.

    *own* is what they are above what is guessed of plain ones. It is 1 until rows say less.
    Source: Deng, Xu, Kohavi and Walker 2013, section 3 (the coefficient of a control variate).
    """
    rows = np.flatnonzero((counts > 0) & (luck != 0))
    if not len(rows):
        return 1.0
    arms, weights = arm[rows], counts[rows]
    apart = [each[rows] - _mean_of(each[rows], weights, arms) for each in (own, luck)]
    both = -float((weights * apart[0] * apart[1]).sum())
    return min(max((both + _BELIEF) / (float((weights * apart[1] ** 2).sum()) + _BELIEF), 0.0), 1.0)


def _mean_of(values: Numbers, weights: Numbers, of: Codes) -> Numbers:
    """Return for each row the mean of *values* over those that are *of* the same."""
    sums, rows = np.bincount(of, weights * values), np.bincount(of, weights)
    means: Numbers = np.divide(sums, rows, out=np.zeros(len(sums)), where=rows > 0)[of]
    return means


def _priors(known: Experience, row: Codes, arm: Codes, cost: Numbers) -> Numbers:
    """Return what the arm of each row was expected to add to a request such as its."""
    typical = arm_costs(known.columns, cost, len(known.arms))
    names = list(known.arms)
    groups = known.columns.groups[row][:, : LEVELS.index("category") + 1]
    cells, inverse = np.unique(np.column_stack([arm, groups]), axis=0, return_inverse=True)
    kinds, categories = (list(each) for each in known.groups[: groups.shape[1]])
    found = [
        prior_gain(
            arm_called(names[code]),
            sort_of(kinds[kind] if kind >= 0 else "", categories[of] if of >= 0 else ""),
            typical[code],
        )
        if code < len(names)
        else 0.0
        for code, kind, of in cells
    ]
    return np.array(found, np.float64)[inverse.reshape(-1)]


def arm_costs(columns: Columns, cost: Numbers, count: int) -> Sequence[float | None]:
    """Return what each arm usually cost, in plain calls; None where that is not known."""
    there = np.flatnonzero(~np.isnan(cost))
    sums = np.bincount(columns.arm[there], cost[there], count)
    counts = np.bincount(columns.arm[there], minlength=count)
    return [
        float(np.exp(total / rows)) if rows else None
        for total, rows in zip(sums, counts, strict=True)
    ]
