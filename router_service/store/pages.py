"""How what was observed is read: page by page, by readers that come again for what is new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from router_service.contract import ModelSpec, Observation


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far somebody has read: up to ``revision``, after rows were deleted ``epoch`` times."""

    epoch: int
    revision: int


@dataclass(frozen=True, slots=True)
class Page:
    """What is new since a cursor, each row as it is now, and the cursor for what comes after.

    ``anew``: rows were deleted, and these are the first of all there are; what was read before is
    to be forgotten. ``more``: there are more of them now. ``sealed`` vectors could not be opened.
    """

    rows: Sequence[Observation]
    cursor: Cursor
    more: bool
    anew: bool = False
    sealed: int = 0


@dataclass(frozen=True, slots=True)
class Learnt:
    """Of how many rows something is known, how many of them have a quality, and the last's time.

    ``at`` is in seconds since 1970.
    """

    rows: int
    judged: int
    at: float


@dataclass(frozen=True, slots=True)
class Profile:
    """What was observed of a model and the pool that it answered with, by the name of each arm."""

    model: str
    pool: tuple[ModelSpec, ...]
    encoder: str
    arms: Mapping[str, Learnt]
