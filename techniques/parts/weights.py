"""How much each vote weighs, by what is known of the answer that gives it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median, pvariance
from typing import Final, Literal, TypeAlias

from pricing.record import record
from techniques.parts.stopping import SCORE_NOISE

RuleName: TypeAlias = Literal["count", "raw", "softmax", "shrunk", "logodds"]

_LEAST: Final = 1e-6
_SUREST: Final = 0.98  # no judge and no model is to be believed more than that
_SHRUNK_TEMPERATURE: Final = 0.2


@record(frozen=True, slots=True)
class Rule:
    """How evidence, 0 to 1, becomes weight.

    Attributes:
        name: ``count`` leaves the evidence out; ``raw`` takes it as the weight; ``softmax`` is
            exponential in it; ``shrunk`` is that too, with what may be noise taken out of the
            evidence before; ``logodds`` takes evidence so shrunk as the probability to be right.
        temperature: Of ``softmax``: towards 0 the surest answer wins, above 1 votes are as good
            as counted.
        noise: Standard deviation of the evidence for one and the same text.
    """

    name: RuleName = "count"
    temperature: float = 0.5
    noise: float = SCORE_NOISE


COUNT: Final = Rule()
"""Each vote counts the same."""


def weights(evidence: Sequence[float | None], rule: Rule, answers: int) -> list[float]:
    """Return the weight of each vote, above 0 and at most 1, which only the best evidence has.

    Votes of which nothing is known weigh like the median; all weigh 1 where nothing is known of
    any. *answers* is how many different ones were given.

    Sources: Taubenfeld et al. 2025, arXiv:2502.06233, definition 3.1 (softmax; not normalised
    here, which changes no winner); Nitzan and Paroush 1982 (log-odds as the best weights).
    """
    known = [value for value in evidence if value is not None]
    if rule.name == "count" or not known:
        return [1.0] * len(evidence)
    middle = median(known)
    filled = [middle if value is None else value for value in evidence]
    return [max(weight, _LEAST) for weight in _weighed(filled, known, rule, answers)]


def _weighed(
    filled: Sequence[float], known: Sequence[float], rule: Rule, answers: int
) -> list[float]:
    if rule.name == "raw":
        return list(filled)
    if rule.name == "softmax":
        return [_exponential(value, rule.temperature) for value in filled]
    kept, mean = _kept(known, rule.noise), fmean(known)
    if rule.name == "shrunk":  # the mean is the same for all and would change no winner
        return [_exponential(1 - kept * (1 - value), _SHRUNK_TEMPERATURE) for value in filled]
    return [_log_odds(mean + kept * (value - mean), answers) for value in filled]


def _kept(known: Sequence[float], noise: float) -> float:
    """Return the share of the differences in *known* that *noise* does not explain."""
    noise, spread = noise * noise, pvariance(known)
    return 1 - min(noise / spread, 1.0) if spread > noise else float(not noise)


def _exponential(value: float, temperature: float) -> float:
    return math.exp((value - 1) / temperature)


def _log_odds(chance: float, answers: int) -> float:
    """Return what a vote that is right with *chance* weighs, where the wrong ones scatter."""
    bounded = min(max(chance, 1 - _SUREST), _SUREST)
    spread = math.log(max(2, answers))
    most = math.log(_SUREST / (1 - _SUREST)) + spread
    return (math.log(bounded / (1 - bounded)) + spread) / most
