"""The calibration file: what was measured of the models, as ``lockgate calibrate`` writes it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from router_service.groundwork.section import Section
from techniques.parts.isotonic import chance_at

Share = Annotated[float, Field(ge=0, le=1)]
Chance = Annotated[float, Field(gt=0, lt=1)]


class Graded(Section):
    """Answers of one kind: so many of so many were right, and what is to be expected of more.

    ``accuracy`` lies nearer to that of the other models the less the answers tell them apart.
    ``ahead`` is, by other model, how often this one is the right one where just one of them is.
    """

    right: int = Field(ge=0)
    of: int = Field(ge=1)
    accuracy: Share
    ahead: Mapping[str, Chance] = {}

    @model_validator(mode="after")
    def _no_more_than_all(self) -> Graded:
        if self.right > self.of:
            raise ValueError("more are right than there are")
        return self


class ModelCalibration(Section):
    """One model: its accuracy by kind of answer, and how sure it was of its answers.

    ``sureness`` are evenly spaced quantiles, the least first and the greatest last, of the
    geometric mean of an answer's token probabilities; empty where it reports none.
    """

    accuracy: Mapping[str, Graded] = {}
    sureness: tuple[Share, ...] = ()

    @model_validator(mode="after")
    def _in_order(self) -> ModelCalibration:
        if len(self.sureness) == 1:
            raise ValueError("one quantile of the sureness tells nothing")
        if any(later < earlier for earlier, later in pairwise(self.sureness)):
            raise ValueError("the quantiles of the sureness do not rise")
        return self


class JudgeCalibration(Section):
    """One judge and kind of answer: how likely an answer is right by its score, from *of* answers.

    ``scores`` rise, and ``chances``, one for each, do not fall.
    """

    of: int = Field(ge=1)
    scores: tuple[Share, ...] = Field(min_length=1)
    chances: tuple[Chance, ...]

    @model_validator(mode="after")
    def _in_order(self) -> JudgeCalibration:
        if len(self.scores) != len(self.chances):
            raise ValueError("there must be a chance for each score")
        if any(later <= earlier for earlier, later in pairwise(self.scores)):
            raise ValueError("the scores do not rise")
        if any(later < earlier for earlier, later in pairwise(self.chances)):
            raise ValueError("the chances fall")
        return self


class CalibrationFile(Section):
    """The whole file. ``made`` is the day it was measured; judges are told by kind of answer."""

    version: Literal[1] = 1
    made: str = ""
    models: Mapping[str, ModelCalibration] = {}
    judges: Mapping[str, Mapping[str, JudgeCalibration]] = {}


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured, as techniques ask for it (``techniques.core.task.Calibration``)."""

    models: Mapping[str, ModelCalibration] = field(default_factory=dict)
    judges: Mapping[str, Mapping[str, JudgeCalibration]] = field(default_factory=dict)

    def accuracy(self, model: str, kind: str) -> float | None:
        """Return which share of answers of *kind* *model* has right, None if not measured."""
        known = self.models.get(model)
        graded = known.accuracy.get(kind) if known else None
        return graded.accuracy if graded else None

    def ahead(self, model: str, other: str, kind: str) -> float | None:
        """Return how often *model* is right where just one of it and *other* is, if measured."""
        known = self.models.get(model)
        graded = known.accuracy.get(kind) if known else None
        return graded.ahead.get(other) if graded else None

    def rank(self, model: str, sureness: float) -> float | None:
        """Return the share of the answers of *model* it was less sure of, None if not measured."""
        known = self.models.get(model)
        return _rank(known.sureness, sureness) if known and known.sureness else None

    def odds(self, judge: str, kind: str, score: float) -> float | None:
        """Return what *score* makes of the odds of being right, as a share of what the best does.

        None if that was not measured of *judge* and *kind*.
        """
        known = self.judges.get(judge, {}).get(kind)
        if known is None:
            return None
        knots = list(zip(known.scores, known.chances, strict=True))
        return _odds(chance_at(knots, score)) / _odds(known.chances[-1])


def measured(path: Path) -> Measured:
    """Return what the calibration file at *path* says.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no calibration file; the message has a line for each fault.
    """
    try:
        file = CalibrationFile.model_validate_json(path.read_bytes())
        return Measured(file.models, file.judges)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        lines = (f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults)
        raise ValueError("\n".join(line.removeprefix(": ") for line in lines)) from error


def _odds(chance: float) -> float:
    return chance / (1 - chance)


def _rank(quantiles: tuple[float, ...], value: float) -> float:
    """Return where *value* lies among *quantiles*, in between by the straight line."""
    below, upto = bisect_left(quantiles, value), bisect_right(quantiles, value)
    steps = len(quantiles) - 1
    if below < upto:  # as many as are equal to it: the middle of them
        return (below + upto - 1) / 2 / steps
    if below in {0, len(quantiles)}:
        return float(below > 0)
    low, high = quantiles[below - 1], quantiles[below]
    return (below - 1 + (value - low) / (high - low)) / steps
