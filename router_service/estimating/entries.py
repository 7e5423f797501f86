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
    gain, sure = _gains(columns, base, (asked, told - middle, trust[asked]), middle)
    row = np.concatenate([np.flatnonzero((arms != none) & (trust > _LEAST_WEIGHT)), asked])
    mine = slice(len(row) - len(asked), None)
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
    return Entries(
        plain,
        row.astype(np.int32),
        arm,
        columns.request[row],
        columns.groups[row],
        np.nan_to_num(value - prior),
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


def _gains(
    columns: Columns, base: Numbers, told: tuple[Codes, Numbers, Numbers], middle: float
) -> tuple[Numbers, Numbers]:
    """Return the gain of each row over its plain call, and its share: less where that is guessed.

    Guessed is what the plain calls of such requests came to.
    """
    asked, left, trust = told
    paired = np.where(np.isnan(columns.plain), base[columns.request], columns.plain)
    missing = np.isnan(paired) & ~np.isnan(columns.quality)
    if missing.any() and len(asked):
        nobody = np.zeros(len(asked), np.int32)
        levels, _ = fitted(left, trust, nobody, columns.groups[asked])
        rows = np.flatnonzero(missing)
        kinds, inverse = np.unique(columns.groups[rows], axis=0, return_inverse=True)
        guesses = np.array([levels.at(0, tuple(each)) for each in kinds])
        paired[rows] = middle + guesses[inverse.reshape(-1)]
    return columns.quality - paired, np.where(missing, _UNPAIRED, 1.0)


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
