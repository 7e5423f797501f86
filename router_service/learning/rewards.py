"""What several signals about one answer say of its quality together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from techniques.parts.judge import Side

Source: TypeAlias = Literal[
    "tests", "reference", "validator", "schema", "feedback", "tool_success", "judge", "reask"
]
RELIABILITY: Final = MappingProxyType(
    {
        "tests": 1.0,
        "reference": 1.0,
        "validator": 1.0,
        "schema": 1.0,
        "feedback": 1.0,
        "tool_success": 0.7,
        "judge": 0.6,
        "reask": 0.3,
    }
)
"""How far each source is to be believed."""
REASK_S: Final = 300.0
REASK_SIMILARITY: Final = 0.9
_EXACT: Final = frozenset({"tests", "reference", "validator", "schema"})
_FORM: Final = frozenset({"validator", "schema"})  # who keeps the form may still be wrong
_ANCHOR: Final = 0.7
_STEP: Final = 0.1


@dataclass(frozen=True, slots=True)
class Signal:
    """What one source says of the answer to a request, and of the plain call's by the same rule.

    Qualities are 0 to 1, None where it does not tell. ``better`` is by how much the answer is
    better than the plain one, where no more than that is known. ``chose``: the answer was chosen
    by this very score.
    """

    source: Source
    quality: float | None = None
    plain_quality: float | None = None
    better: float | None = None
    chose: bool = False


@dataclass(frozen=True, slots=True)
class Reward:
    """What is known of an answer and of the plain one, None where nothing is."""

    quality: float
    plain_quality: float | None
    source: str
    reliability: float


def compared(side: Side, strength: float = 1.0) -> Signal:
    """Return what a judge says who saw the answer first and the plain one second.

    *strength*, 0 to 1, is how clear it was.
    """
    sign = {"first": 1, "tie": 0, "second": -1}[side]
    return Signal("judge", better=sign * _STEP * strength)


def refused_form() -> Signal:
    """Return what it says that an answer broke the form that was asked for."""
    return Signal("schema", quality=0.0)


def asked_again(seconds: float, similarity: float) -> Signal | None:
    """Return what it says that a caller asks so much the same so soon, None if nothing."""
    if 0 <= seconds <= REASK_S and similarity > REASK_SIMILARITY:
        return Signal("reask", quality=0.0)
    return None


def combined(signals: Iterable[Signal], anchor: float = _ANCHOR) -> Reward | None:
    """Return what *signals* about one request say together, None if that is nothing.

    A score that chose the answer is left out: the greatest of several scores is too good to be
    true. What was found by running or checking an answer outranks all opinions of it; but that an
    answer keeps its form does not make it right. Where only the difference is known, the plain
    answer is taken to be worth *anchor*.
    """
    told = [one for one in signals if _tells(one)]
    exact = [one for one in told if one.source in _EXACT]
    used = exact or told
    if not used:
        return None
    differences = [
        (difference, RELIABILITY[one.source])
        for one in used
        if (difference := _difference(one)) is not None
    ]
    better = _mean(differences)
    levels = [(one.quality, RELIABILITY[one.source]) for one in used if one.quality is not None]
    quality = _mean(levels)
    if quality is None:
        assert better is not None
        quality = min(max(anchor + better, 0.0), 1.0)
    plain = None if better is None else min(max(quality - better, 0.0), 1.0)
    return Reward(quality, plain, _named(used), _reliability(used))


def _tells(signal: Signal) -> bool:
    if signal.chose or (signal.quality is None and signal.better is None):
        return False
    return not (signal.source in _FORM and signal.quality == 1 and signal.plain_quality is None)


def _difference(signal: Signal) -> float | None:
    if signal.better is not None:
        return signal.better
    if signal.quality is None or signal.plain_quality is None:
        return None
    return signal.quality - signal.plain_quality


def _mean(weighed: Sequence[tuple[float, float]]) -> float | None:
    total = sum(weight for _, weight in weighed)
    return sum(value * weight for value, weight in weighed) / total if total else None


def _named(signals: Iterable[Signal]) -> str:
    """Return the sources in the order of how far they are to be believed."""
    sources = {one.source for one in signals}
    return "+".join(sorted(sources, key=lambda name: (-RELIABILITY[name], name)))


def _reliability(signals: Iterable[Signal]) -> float:
    """Return how far all are to be believed: less of a doubt is left with each source."""
    return 1 - math.prod(1 - RELIABILITY[name] for name in {one.source for one in signals})
