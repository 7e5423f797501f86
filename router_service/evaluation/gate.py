"""Whether a candidate may pass: no worse than the baseline by more than was allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from router_service.evaluation.samples import Metric
from router_service.evaluation.statistics.intervals import Estimate
from router_service.evaluation.statistics.resampling import Interval

Mode: TypeAlias = Literal["regression", "noninferiority"]
Outcome: TypeAlias = Literal["pass", "block", "unknown"]

SIGNIFICANT: Final = 0.05
GUARD_MARGIN: Final = 0.02
_KNOWN_SHARE: Final = 0.95
_CODES: Final[dict[Outcome, int]] = {"pass": 0, "block": 1, "unknown": 2}


@dataclass(frozen=True, slots=True)
class Rule:
    """How much worse something may get: ``margin``, a share of the baseline's if relative.

    ``guard``: nobody asked for it, and it only ever blocks.
    """

    metric: Metric
    margin: float
    mode: Mode = "regression"
    guard: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a candidate for one rule.

    ``gain`` is the difference as a gain, below 0 where the candidate is worse, ``harm_p`` the
    adjusted p of the hypothesis that it is no worse; None: nothing is known. ``known`` is the share
    of prompts in which both have a value, ``detectable`` the least difference to be found, None
    where that is not known.
    """

    gain: Estimate | None
    harm_p: float | None
    known: float = 1.0
    detectable: float | None = None
    invalid: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one rule for one candidate, and why."""

    candidate: str
    rule: Rule
    evidence: Evidence
    outcome: Outcome
    why: str


def verdict(candidate: str, rule: Rule, evidence: Evidence) -> Verdict:
    """Return what *evidence* comes to under *rule*."""
    outcome, why = _decided(rule, evidence)
    if rule.guard and outcome == "unknown":
        outcome = "pass"
    return Verdict(candidate, rule, evidence, outcome, why)


def exit_code(verdicts: Sequence[Verdict], *, complete: bool) -> int:
    """Return 1 if anything blocks, else 2 if anything is not known, else 0."""
    outcomes = {one.outcome for one in verdicts}
    if "block" in outcomes:
        return _CODES["block"]
    return _CODES["unknown"] if "unknown" in outcomes or not complete or not outcomes else 0


def _decided(rule: Rule, evidence: Evidence) -> tuple[Outcome, str]:
    gain = evidence.gain
    if evidence.invalid:
        return "unknown", evidence.invalid
    if gain is None or gain.interval is None:
        return "unknown", "there are too few prompts to tell"
    if evidence.known < _KNOWN_SHARE:
        return "unknown", f"it is known of only {evidence.known:.0%} of the prompts"
    if rule.mode == "noninferiority":
        return _no_worse(rule, gain.mean, gain.interval)
    return _regressed(rule, gain.mean, gain.interval, evidence)


def _no_worse(rule: Rule, gain: float, interval: Interval) -> tuple[Outcome, str]:
    if interval.low > -rule.margin:
        return "pass", "a loss larger than the margin is ruled out"
    if gain < -rule.margin and interval.high < 0:
        return "block", "the loss is larger than the margin, and no chance"
    return "unknown", "underpowered: a loss larger than the margin is not ruled out"


def _regressed(
    rule: Rule, gain: float, interval: Interval, evidence: Evidence
) -> tuple[Outcome, str]:
    if gain < -rule.margin:
        if evidence.harm_p is not None and evidence.harm_p < SIGNIFICANT:
            return "block", f"worse by more than the margin (p = {evidence.harm_p:.2g})"
        return "unknown", "underpowered: worse by more than the margin, but it may be chance"
    least = -interval.low if evidence.detectable is None else evidence.detectable
    if least > rule.margin:
        return "pass", "no loss beyond the margin was seen, but one could have been missed"
    return "pass", "no loss beyond the margin"
