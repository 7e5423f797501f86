"""Adaptive coding and modulation: spend on a question what its difficulty calls for."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from typing import Annotated, Final, TypeAlias

from pydantic import BaseModel, Field, FiniteFloat, model_validator

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.json import Json
from techniques.core.registry import DELEGATED, Cards, Traits, delegating
from techniques.core.task import Task
from techniques.engines.delegate import Delegating, delegate
from techniques.parts.category import CategoryName
from techniques.parts.features import features
from techniques.parts.linear import Artifact, utilities
from techniques.parts.tables import (
    Bin,
    Bins,
    Dispatch,
    Row,
    Table,
    by_confidence,
    by_difficulty,
    voided,
)
from techniques.phases.attempt import begin
from techniques.phases.pilot import Reading

_MIDDLE: Final = 0.5  # where nothing tells how hard a question is
_BALANCED: Final = 1.0
_SOURCE: Final = "Goldsmith and Chua 1998 (adaptive coded modulation); "

PilotTokens: TypeAlias = Annotated[
    int,
    Field(
        ge=0,
        le=4096,
        description="After so many tokens of the first answer it may be passed on as it comes, if "
        "it is the answer by what they tell; 0: only when it is whole.",
    ),
]
_Call: TypeAlias = tuple[str, Mapping[str, Json]]
Shift: TypeAlias = Annotated[float, Field(ge=-0.25, le=0.25)]


def _table(*dispatches: _Call) -> tuple[Row, ...]:
    """Return the table of four *dispatches* for four quarters of difficulty."""
    return tuple(
        Row(
            name=name,
            difficulty_range=(place / 4, (place + 1) / 4),
            technique=technique,
            params=params,
        )
        for place, (name, (technique, params)) in enumerate(zip(_NAMES, dispatches, strict=True))
    )


_NAMES: Final = ("easy", "fair", "hard", "hardest")
_PLAIN: Final[_Call] = ("baseline", {})
_VOTE: Final[_Call] = ("self_consistency", {"num_samples": 3})
_PAIR: Final[_Call] = ("best_of_n", {"num_samples": 2})
_REPAIR: Final[_Call] = ("harq_ir", {"max_rounds": 2})
_SELECT: Final[_Call] = ("diversity_sc_N", {"num_samples": 4})
_COMBINE: Final[_Call] = ("diversity_mrc", {})

TABLE: Final = _table(_PLAIN, _VOTE, _REPAIR, _COMBINE)
"""What ``acm`` does where nothing else is said."""
CATEGORY_TABLES: Final[Mapping[CategoryName, tuple[Row, ...]]] = {
    "reasoning": _table(_PLAIN, _VOTE, _SELECT, _COMBINE),
    "code": _table(_PLAIN, _PAIR, _REPAIR, _SELECT),
    "creative": _table(_PLAIN, _PAIR, _SELECT, _COMBINE),
}
"""The same for what is no plain question."""
BINS: Final = tuple(
    Bin(at_least=edge, technique=technique, params=params)
    for edge, (technique, params) in zip(
        (0.7, 0.5, 0.3, 0.0), (_PLAIN, _PAIR, _REPAIR, _COMBINE), strict=True
    )
)
"""What ``acm_soft`` does where nothing else is said."""
SHIFTS: Final[Mapping[CategoryName, float]] = {"reasoning": 0.05, "code": 0.05, "creative": -0.1}
"""How much more confidence a category wants: unlikely words are no fault in what is invented."""


class ByTable(BaseModel, frozen=True, extra="forbid"):
    """Which technique for which difficulty."""

    table: Table | None = Field(
        None,
        description="Rows of `name`, `difficulty_range` (two numbers), `technique`, and optionally "
        "`params` and `model` (one of the request's channels, asked first). They cover 0 to 1. "
        "Unset: the built-in.",
    )
    category_tables: Mapping[CategoryName, Table] | None = Field(
        None,
        description="Such tables for `qa`, `reasoning`, `creative` or `code`, in place of the one "
        "for all. Unset, and `table` too: the built-in.",
    )
    pilot_tokens: PilotTokens = 64

    def of(self, category: CategoryName) -> Sequence[Row]:
        """Return the table for questions of *category*."""
        return self._by_category().get(category, self.table or TABLE)

    def models(self) -> frozenset[str]:
        """Return the models that the tables name."""
        return _models((self.table or TABLE), *self._by_category().values())

    def _by_category(self) -> Mapping[CategoryName, Sequence[Row]]:
        if self.category_tables is None:
            return CATEGORY_TABLES if self.table is None else {}
        return self.category_tables


class ByConfidence(BaseModel, frozen=True, extra="forbid"):
    """Which technique for which confidence."""

    bins: Bins | None = Field(
        None,
        description="Bins of `at_least` (0 to 1), `technique`, and optionally `params` and `model` "
        "(one of the request's channels, asked first); one begins at 0. Unset: the built-in.",
    )
    category_shifts: Mapping[CategoryName, Shift] | None = Field(
        None,
        description="How much more confidence than that a category wants, -0.25 to 0.25; no bin "
        "may be left without any. Unset, and `bins` too: the built-in.",
    )
    pilot_tokens: PilotTokens = 64

    @model_validator(mode="after")
    def _leaves_every_bin(self) -> ByConfidence:
        for category, shift in self.shifts().items():
            if voided(self.every(), shift):
                raise ValueError(f"the shift of {category} leaves no confidence for a bin")
        return self

    def every(self) -> Sequence[Bin]:
        """Return the bins."""
        return self.bins or BINS

    def shifts(self) -> Mapping[CategoryName, float]:
        """Return by how much categories shift them."""
        if self.category_shifts is None:
            return SHIFTS if self.bins is None else {}
        return self.category_shifts


class ByWeights(BaseModel, frozen=True, extra="forbid"):
    """What was learnt of the worth of techniques, and what cost is to count."""

    weights: Artifact = Field(
        description="What training left: `feature_spec`, `technique_classes`, `weights` and more.",
        examples=[
            {
                "feature_spec": {
                    "feature_order": ["bias", "difficulty"],
                    "categories": [],
                    "has_content_features": False,
                },
                "technique_classes": ["baseline", "self_consistency"],
                "weights": [[0.0, -0.03], [0.0, 0.12]],
                "costs": [1.0, 3.9],
            }
        ],
    )
    cost_weight: FiniteFloat | None = Field(
        None,
        ge=0,
        le=1000,
        description="Quality points (of 100) that the cost of one more plain call must buy: 0 for "
        "quality alone, 5 for a small bill. Unset: as trained, or 1.",
    )
    dispatch_defaults: Mapping[str, Mapping[str, Json]] = Field(
        {}, description='Options for techniques by name, such as {"fountain": {...}}.'
    )
    pilot_tokens: PilotTokens = 64


@delegating(
    options=ByTable,
    traits=Traits(
        family="adaptive",
        source=_SOURCE + "Snell et al. 2024, arXiv:2408.03314 (compute by difficulty)",
        worst="those of the technique that is chosen, and 1",
        typical="those of the technique that is chosen",
        avoid="All your questions are about equally hard: choose the technique for them.",
        needs=("log-probabilities",),
        modality=DELEGATED,
    ),
)
def acm(task: Task[ByTable], channels: Channels, cards: Cards) -> AsyncGenerator[Event, None]:
    """Tell from a first answer how hard the question is, and go on as a table says for that."""
    options = task.options

    def choose(reading: Reading) -> Sequence[Dispatch]:
        hard = _MIDDLE if reading.difficulty is None else reading.difficulty
        return by_difficulty(options.of(reading.category.name), hard)

    settings = Delegating(choose, options.models(), options.pilot_tokens)
    return delegate(begin(task, channels, "acm"), settings, cards)


@delegating(
    options=ByConfidence,
    traits=Traits(
        family="adaptive",
        source=_SOURCE + "Kadavath et al. 2022, arXiv:2207.05221 (models know what they know)",
        worst="those of the technique that is chosen, and 1",
        typical="those of the technique that is chosen",
        avoid="The model reports no log-probabilities: there is no confidence to go by.",
        needs=("log-probabilities",),
        modality=DELEGATED,
    ),
    aliases=("soft_acm",),
)
def acm_soft(
    task: Task[ByConfidence], channels: Channels, cards: Cards
) -> AsyncGenerator[Event, None]:
    """Tell from a first answer how sure the model is, and spend the more the less it is."""
    options = task.options
    attempt = begin(task, channels, "acm_soft")

    def choose(reading: Reading) -> Sequence[Dispatch]:
        if reading.by in {"agreement", "rating"}:
            attempt.warn("confidence_source_changed", f"probabilities -> {reading.by}")
        sure = _MIDDLE if reading.difficulty is None else 1 - reading.difficulty
        shift = options.shifts().get(reading.category.name, 0.0)
        return by_confidence(options.every(), sure, shift)

    settings = Delegating(choose, _models(options.every()), options.pilot_tokens)
    return delegate(attempt, settings, cards)


@delegating(
    options=ByWeights,
    traits=Traits(
        family="adaptive",
        source=_SOURCE + "Ong et al. 2024, arXiv:2406.18665 (learnt routing)",
        worst="those of the technique that is chosen, and 1",
        typical="those of the technique that is chosen",
        avoid="No weights were learnt from traffic such as yours.",
        needs=("weights",),
        modality=DELEGATED,
    ),
)
def acm_learned(
    task: Task[ByWeights], channels: Channels, cards: Cards
) -> AsyncGenerator[Event, None]:
    """Hand on to the technique that was learnt to be worth most for such a question."""
    settings = Delegating(partial(_ranked, task.options), tokens=task.options.pilot_tokens)
    return delegate(begin(task, channels, "acm_learned"), settings, cards)


def _ranked(options: ByWeights, reading: Reading) -> Sequence[Dispatch]:
    """Return the techniques by what they are worth for what was read."""
    artifact, weight = options.weights, options.cost_weight
    if weight is None:
        weight = _BALANCED if artifact.lambda_trained is None else artifact.lambda_trained
    found = features(reading.request, reading.category, reading.difficulty)
    worth = utilities(artifact, found, weight)
    return [
        Dispatch(technique=name, params=options.dispatch_defaults.get(name, {}))
        for name in sorted(worth, key=lambda name: -worth[name])
    ]


def _models(*tables: Sequence[Dispatch]) -> frozenset[str]:
    return frozenset(
        dispatch.model for table in tables for dispatch in table if dispatch.model is not None
    )
