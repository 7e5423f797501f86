"""What came of a fleet, in figures, and the middle of several runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import fmean, median
from typing import Final

from bench.pacing.account import Terms
from bench.pacing.agents import Agent

_MINUTE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Figures:
    """One run of a fleet. Seconds are the provider's, tokens as it counts them.

    Attributes:
        refused: 429s that the provider gave.
        unasked: Calls that it got and no agent had made.
        resent: Prompt tokens of refused calls.
        makespan_s: Until the last agent was done.
        goodput: Tokens charged, in per cent of what the account allowed in that time.
        wait_s: 95 % of the steps waited no longer than this.
        jain: How even the agents' times to their ends are; 1: all the same.
        told: 429s that agents got.
        broken: Steps that failed or were answered in part, and agents that got to no end.
    """

    refused: float
    unasked: float
    resent: float
    makespan_s: float
    goodput: float
    wait_s: float
    jain: float
    told: float
    broken: float


def figures(
    agents: Sequence[Agent], counted: Mapping[str, float], terms: Terms, makespan_s: float
) -> Figures:
    """Return what came of *agents*, of whom the provider *counted* so much."""
    lived = [agent.lived for agent in agents]
    ends = [makespan_s if one.done_s is None else one.done_s for one in lived]
    allowed = allowance(counted, terms, makespan_s)
    return Figures(
        refused=counted["refused"],
        unasked=counted["unasked"],
        resent=counted["resent"],
        makespan_s=makespan_s,
        goodput=100 * counted["charged"] / allowed if allowed else 0.0,
        wait_s=quantile([wait for one in lived for wait in one.waits_s], 0.95),
        jain=jain(ends),
        told=sum(one.refused for one in lived),
        broken=sum(len(one.broken) + (one.done_s is None) for one in lived),
    )


def allowance(counted: Mapping[str, float], terms: Terms, makespan_s: float) -> float:
    """Return the tokens that an account allowed its agents while they ran.

    A bucket: what it holds, and what came in, but for what somebody else took. A counter that
    begins anew each minute: what was charged, and what was left at the end of each minute.
    """
    if terms.vendor == "azure":
        return counted["charged"] + counted["wasted"]
    return terms.tpm * (1 + makespan_s / _MINUTE_S) - counted["drained"]


def jain(values: Sequence[float]) -> float:
    """Return how even *values* are, from 1 / n to 1.

    Source: Jain, Chiu and Hawe 1984, DEC-TR-301, equation 1.
    """
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0


def quantile(values: Sequence[float], share: float) -> float:
    """Return the least of *values* that so large a *share* of them do not exceed; 0 of none."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def middle(runs: Sequence[Figures]) -> Figures:
    """Return the median of each figure, but the mean of what is counted in few."""
    mean = {"refused", "unasked", "told", "broken"}
    return Figures(
        **{
            one.name: (fmean if one.name in mean else median)(
                [float(getattr(run, one.name)) for run in runs]
            )
            for one in fields(Figures)
        }
    )
