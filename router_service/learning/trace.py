"""A full trace: one request answered several times over, each answer scored and paid for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, permutations
from statistics import fmean, pstdev
from typing import Final, NamedTuple

import numpy as np

from techniques.parts.answers import Expected
from techniques.parts.candidates import Candidate
from techniques.phases.evidence import SourceName

MOST_ORDERS: Final = 60


class Spent(NamedTuple):
    """What a call took: dollars and milliseconds."""

    usd: float = 0.0
    ms: float = 0.0


FREE: Final = Spent()


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer of a trace, and what is known of it.

    ``value`` is its quality, 0 to 1, by something that no technique chooses by: the true grade, or
    a judge's second score; None: not known. ``score`` is what a technique would be told by a
    judge, for ``judged``, and ``sure`` how sure of it the model is, for ``checked``.
    """

    candidate: Candidate
    drawn: Spent = FREE
    value: float | None = None
    score: float | None = None
    judged: Spent = FREE
    sure: float | None = None
    checked: Spent = FREE


@dataclass(frozen=True, slots=True)
class Trace:
    """What one request was answered; the first sample as the client asked for it.

    ``alike``: the others were drawn with the same settings as the first, so that any of them might
    have been the first. ``stronger`` are single answers of other models by their name, ``harder``
    those of the same model by effort. ``sure_by`` is where the sureness comes from, and
    ``compared`` what it takes to show a judge two answers in one order.
    """

    expected: Expected
    samples: tuple[Sample, ...]
    alike: bool = False
    stronger: Mapping[str, Sample] = field(default_factory=dict)
    harder: Mapping[str, Sample] = field(default_factory=dict)
    sure_by: SourceName = "none"
    compared: Spent = FREE


@dataclass(frozen=True, slots=True)
class Outcome:
    """What would have come of it: quality, dollars, calls and milliseconds.

    ``spread`` is the standard deviation of the quality over the orders it was worked out for.
    """

    quality: float
    usd: float
    calls: float
    ms: float
    spread: float = 0.0


def plain(trace: Trace) -> Outcome | None:
    """Return what comes of the plain call, None if its worth is not known."""
    likely = trace.samples if trace.alike else trace.samples[:1]
    values = [one.value for one in likely if one.value is not None]
    if len(values) < len(likely):
        return None
    usd, ms = (fmean(one.drawn[column] for one in likely) for column in (0, 1))
    return Outcome(fmean(values), usd, 1, ms, pstdev(values))


def single(sample: Sample) -> Outcome | None:
    """Return what comes of one call whose answer is *sample*."""
    if sample.value is None:
        return None
    return Outcome(sample.value, sample.drawn.usd, 1, sample.drawn.ms)


def orders(trace: Trace, random: np.random.Generator) -> list[tuple[Sample, ...]]:
    """Return orders in which the samples might have come: all, or as many as are enough.

    Where the samples are not alike the first stays the first.
    """
    fixed = 0 if trace.alike else 1
    first, rest = trace.samples[:fixed], trace.samples[fixed:]
    if math.factorial(len(rest)) <= MOST_ORDERS:
        found = list(permutations(rest))
    else:
        found = [
            tuple(rest[place] for place in random.permutation(len(rest)))
            for _ in range(MOST_ORDERS)
        ]
    return [_placed((*first, *order)) for order in islice(found, MOST_ORDERS)]


def mean(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the mean of *outcomes*, at least one."""
    return Outcome(
        fmean(one.quality for one in outcomes),
        fmean(one.usd for one in outcomes),
        fmean(one.calls for one in outcomes),
        fmean(one.ms for one in outcomes),
        pstdev(one.quality for one in outcomes),
    )


def _placed(samples: Sequence[Sample]) -> tuple[Sample, ...]:
    return tuple(
        replace(one, candidate=replace(one.candidate, place=place))
        for place, one in enumerate(samples)
    )
