"""What was observed, as columns: what routers reckon with. Nothing in it is ever changed.

Growing makes a new one, of what the old one holds and of the new rows only; so it is cheap, and
may be done in another thread while the old one is being read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from router_service.contract import Features, Observation
from router_service.estimating.partition import Codes, Matrix, Numbers, Partition, joined, unit
from router_service.estimating.pools import fingerprint
from techniques.parts.features import CONTENT

COUNTED: Final = ("tokens", "turns", *sorted(CONTENT))
"""The numbers that are kept of every request, in the order of their columns."""
LEVELS: Final = ("kind", "category", "label", "system")
"""What groups requests, from coarse to fine."""
_COUNTERFACTUAL: Final = 0.5
_LEAST_COST: Final = 1e-3
_LARGEST: Final = 10_000_000.0


class Columns(NamedTuple):
    """One entry an observation; names are codes, what is not known is NaN.

    ``groups`` has a column for each of ``LEVELS``, -1 where the request has none, ``counted`` one
    for each of ``COUNTED``. ``cost`` is the logarithm of the cost in plain calls.
    """

    at: Numbers
    request: Codes
    arm: Codes
    pool: Codes
    groups: Codes
    counted: Matrix
    quality: Numbers
    plain: Numbers
    cost: Numbers
    latency: Numbers
    weight: Numbers

    def taken(self, rows: NDArray[np.bool_] | Codes) -> Columns:
        """Return just these *rows*."""
        return Columns._make(column[rows] for column in self)

    def extended(self, other: Columns) -> Columns:
        """Return these rows and those of *other* after them."""
        pairs = zip(self, other, strict=True)
        return Columns._make(np.concatenate([ours, theirs]) for ours, theirs in pairs)


Vocabulary: TypeAlias = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Experience:
    """All that is known, and the names behind its codes."""

    columns: Columns
    ids: Vocabulary = field(default_factory=dict)
    requests: Vocabulary = field(default_factory=dict)
    arms: Vocabulary = field(default_factory=dict)
    pools: Vocabulary = field(default_factory=dict)
    groups: tuple[Vocabulary, ...] = ({},) * len(LEVELS)
    partitions: Mapping[str, Partition] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.columns.at)

    def grown(self, rows: Iterable[Observation], most: int | None = None) -> Experience:
        """Return this with *rows*, which take the place of those with their ids.

        Only the *most* recent rows are kept, if it is said how many.
        """
        latest = {row.id: row for row in rows}
        if not latest:
            return self
        names = _Names(self)
        came = _columns(list(latest.values()), names)
        partitions = _placed(self.partitions, latest.values(), names.requests)
        kept = np.ones(len(self), bool)
        kept[[self.ids[name] for name in latest if name in self.ids]] = False
        old = self.columns if kept.all() else self.columns.taken(kept)
        ids = self.ids if kept.all() else _renumbered(self.ids, kept)
        grown = Experience(
            old.extended(came),
            {**ids, **{name: len(old.at) + place for place, name in enumerate(latest)}},
            names.requests,
            names.arms,
            names.pools,
            tuple(names.groups),
            partitions,
        )
        return grown if most is None or len(grown) <= most else _newest(grown, most)


def _renumbered(ids: Vocabulary, kept: NDArray[np.bool_]) -> Vocabulary:
    places = np.cumsum(kept) - 1
    return {name: int(places[place]) for name, place in ids.items() if kept[place]}


def nothing() -> Experience:
    """Return what is known at the beginning."""
    return Experience(_columns([], _Names(None)))


def experience(rows: Iterable[Observation]) -> Experience:
    """Return what *rows* tell."""
    return nothing().grown(rows)


class _Names:
    """The vocabularies while they grow: copies, as the old ones are being read."""

    def __init__(self, old: Experience | None) -> None:
        self.requests = dict(old.requests) if old else {}
        self.arms = dict(old.arms) if old else {}
        self.pools = dict(old.pools) if old else {}
        self.groups = [dict(each) for each in old.groups] if old else [{} for _ in LEVELS]


def group_names(row: Observation) -> tuple[str, ...]:
    """Return the group of *row* at each of ``LEVELS``, "" where it is in none."""
    features = row.features
    return (features.kind, features.category, features.label, features.system)


def counted(features: Features) -> list[float]:
    """Return the numbers of a request with *features* in the order of ``COUNTED``."""
    content = features.content
    return [
        math.log1p(features.tokens) / 10,
        math.log1p(features.turns) / 10,
        *(_finite(content.get(name, 0.0)) for name in COUNTED[2:]),
    ]


def _code(names: dict[str, int], name: str) -> int:
    return names.setdefault(name, len(names))


def _columns(rows: Sequence[Observation], names: _Names) -> Columns:
    groups = [
        [
            _code(known, name) if name else -1
            for known, name in zip(names.groups, group_names(row), strict=True)
        ]
        for row in rows
    ]
    numbers = [counted(row.features) for row in rows]
    return Columns(
        at=np.array([row.at for row in rows], np.float64),
        request=_codes([_code(names.requests, row.request_id) for row in rows]),
        arm=_codes([_code(names.arms, row.arm) for row in rows]),
        pool=_codes([_code(names.pools, fingerprint(row.model, row.pool)) for row in rows]),
        groups=_codes(groups).reshape(-1, len(LEVELS)),
        counted=np.array(numbers, np.float32).reshape(-1, len(COUNTED)),
        quality=_numbers([row.quality for row in rows]),
        plain=_numbers([row.plain_quality for row in rows]),
        cost=np.log(np.maximum(_numbers([row.cost for row in rows]), _LEAST_COST)),
        latency=_numbers([row.latency_ms for row in rows]),
        weight=_numbers([_reliability(row) for row in rows]),
    )


def _reliability(row: Observation) -> float:
    return abs(row.reliability) * (_COUNTERFACTUAL if row.counterfactual else 1.0)


def _codes(values: Sequence[int] | Sequence[Sequence[int]]) -> Codes:
    return np.array(values, np.int32)


def _numbers(values: Sequence[float | None]) -> Numbers:
    return np.array([math.nan if value is None else value for value in values], np.float64)


def _finite(value: float) -> float:
    return max(-_LARGEST, min(_LARGEST, value)) if math.isfinite(value) else 0.0


def _placed(
    old: Mapping[str, Partition], rows: Iterable[Observation], requests: Vocabulary
) -> dict[str, Partition]:
    """Return the partitions with the vectors of *rows*: one a request and encoder."""
    came: dict[str, dict[int, Matrix]] = {}
    for row in rows:
        if row.vector is not None and (values := unit(row.vector)) is not None:
            came.setdefault(row.vector.encoder, {})[requests[row.request_id]] = values
    return {**old, **{name: joined(old.get(name), each) for name, each in came.items()}}


def _newest(full: Experience, most: int) -> Experience:
    """Return the *most* recent rows of *full*, and only the requests and vectors they need."""
    rows = np.sort(np.argsort(full.columns.at, kind="stable")[-most:])
    kept = np.zeros(len(full), bool)
    kept[rows] = True
    columns = full.columns.taken(kept)
    codes = np.unique(columns.request)
    renamed = np.full(len(full.requests), -1, np.int32)
    renamed[codes] = np.arange(len(codes))
    requests = {name: int(renamed[at]) for name, at in full.requests.items() if renamed[at] >= 0}
    return Experience(
        columns._replace(request=renamed[columns.request]),
        _renumbered(full.ids, kept),
        requests,
        full.arms,
        full.pools,
        full.groups,
        {name: each.thinned(codes.astype(np.int32)) for name, each in full.partitions.items()},
    )
