"""Which technique for which difficulty: tables that leave no gap and say nothing twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Final, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from techniques.core.json import Json
from techniques.core.registry import DELEGATED, Card, Cards

CARDS: Final = "cards"
"""The name under which a validation's context holds the cards of the techniques there are."""


class Dispatch(BaseModel, frozen=True, extra="forbid"):
    """A technique to hand on to, its options, and the model that it asks first.

    Validated in the context of the techniques there are, a dispatch is one of them, with options
    that it has.
    """

    technique: str
    params: Mapping[str, Json] = {}
    model: str | None = None

    @model_validator(mode="after")
    def _can_be_made(self, info: ValidationInfo) -> Dispatch:
        cards: Cards | None = (info.context or {}).get(CARDS)
        if cards is not None:
            _check(self, cards.get(self.technique))
        return self


class Row(Dispatch, frozen=True, extra="forbid"):
    """A dispatch for difficulties from the first of its range up to, but without, the second."""

    name: str = Field(min_length=1, max_length=64)
    difficulty_range: tuple[float, float]


class Bin(Dispatch, frozen=True, extra="forbid"):
    """A dispatch for confidences from ``at_least`` up to the next bin."""

    at_least: float = Field(ge=0, lt=1)


def _whole(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    ordered = sorted(rows, key=lambda row: row.difficulty_range)
    faults = list(_faults([row.difficulty_range for row in ordered]))
    if faults:
        raise ValueError("; ".join(faults))
    return tuple(ordered)


def _descending(bins: tuple[Bin, ...]) -> tuple[Bin, ...]:
    ordered = sorted(bins, key=lambda one: -one.at_least)
    edges = [one.at_least for one in ordered]
    if len(set(edges)) < len(edges):
        raise ValueError("two bins begin at the same confidence")
    if edges[-1:] != [0.0]:
        raise ValueError("no bin begins at 0")
    return tuple(ordered)


Table: TypeAlias = Annotated[tuple[Row, ...], AfterValidator(_whole)]
"""Rows from 0 to 1 by difficulty."""
Bins: TypeAlias = Annotated[tuple[Bin, ...], AfterValidator(_descending)]
"""Bins by confidence, the highest first, the last from 0."""


def by_difficulty(table: Sequence[Row], difficulty: float) -> Sequence[Row]:
    """Return the row of *table* for *difficulty*, then the easier ones, nearest first.

    The last row has 1 too.
    """
    reached = [row for row in table if row.difficulty_range[0] <= difficulty]
    return reached[::-1]


def by_confidence(bins: Sequence[Bin], confidence: float, shift: float) -> Sequence[Bin]:
    """Return the bin for *confidence*, then those of more, nearest first.

    *shift* is how much more confidence each bin but the last wants.
    """
    edges = [one.at_least + shift if one.at_least else 0.0 for one in bins]
    at = next(place for place, edge in enumerate(edges) if confidence >= edge)
    return bins[at::-1]


def voided(bins: Sequence[Bin], shift: float) -> bool:
    """Tell whether *shift* would leave one of *bins* without any confidence."""
    return not all(0 < one.at_least + shift < 1 for one in bins if one.at_least)


def _faults(ranges: Sequence[tuple[float, float]]) -> Iterator[str]:
    if not ranges:
        yield "a table needs a row"
        return
    for low, high in ranges:
        if not low < high:
            yield f"{low:g} to {high:g} is no range"
    if ranges[0][0] != 0 or ranges[-1][1] != 1:
        yield "the ranges must begin at 0 and end at 1"
    for (_, before), (after, _) in pairwise(ranges):
        if before < after:
            yield f"no row is for {before:g} to {after:g}"
        if before > after:
            yield f"two rows are for {after:g} to {before:g}"


def _check(dispatch: Dispatch, card: Card | None) -> None:
    if card is None:
        raise ValueError(f"there is no technique {dispatch.technique!r}")
    if card.traits.modality == DELEGATED:
        raise ValueError(f"{dispatch.technique} chooses a technique itself")
    try:
        card.options.model_validate(dispatch.params)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        at = ".".join(map(str, fault["loc"]))
        raise ValueError(f"{dispatch.technique}: {at}: {fault['msg']}") from error
