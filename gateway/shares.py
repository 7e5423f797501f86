"""What share of right answers to expect of models, and of one against another, from a few."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, variance
from typing import Final, TypeAlias

Count: TypeAlias = tuple[int, int]
"""So many right answers of so many."""
Rights: TypeAlias = Mapping[int, bool]
"""Which questions a model had right, by their number; only those of which that is known."""
Pair: TypeAlias = tuple[Rights, Rights]

_PRIOR: Final = 2
"""How many questions, of those that just one of two models has right, what is known of each of the
two by itself weighs as much as."""
_ELSEWHERE: Final = 8
"""How many of them those with answers of other kinds weigh as much as at most."""


def shrunk(counts: Sequence[Count]) -> list[float]:
    """Return the share of right answers to expect of each model that got *counts*, right and all.

    Each is drawn towards the mean of all, as far as chance explains why they differ.

    Source: Efron and Morris 1975, Journal of the American Statistical Association 70 (section 2).
    """
    shares = [_laplace(count) for count in counts]
    if len(shares) < 2:
        return shares
    mean = fmean(shares)
    noise = [mean * (1 - mean) / of for _, of in counts]
    between = max(0.0, variance(shares) - fmean(noise))
    return [
        mean + between / (between + chance) * (share - mean)
        for share, chance in zip(shares, noise, strict=True)
    ]


def expected(of_kind: Mapping[str, Count], overall: Mapping[str, Count]) -> dict[str, float]:
    """Return the share of right answers of one kind to expect of each model.

    *of_kind* is what each got of that kind, *overall* what it got of all kinds. Each share is drawn
    towards what the overall one leads to expect, given how hard the kind is for all of them, as far
    as chance explains why they differ. So a few answers of a kind do not make all models equal.

    Source: Efron and Morris 1975, Journal of the American Statistical Association 70 (section 8).
    """
    whole = shrunk([overall[model] for model in of_kind])
    shares = [_laplace(count) for count in of_kind.values()]
    harder = _logit(fmean(shares)) - _logit(fmean(whole))
    likely = [_expit(_logit(share) + harder) for share in whole]
    noise = [
        share * (1 - share) / of for share, (_, of) in zip(likely, of_kind.values(), strict=True)
    ]
    apart = [(share - prior) ** 2 for share, prior in zip(shares, likely, strict=True)]
    between = max(0.0, fmean(apart) - fmean(noise))
    return {
        model: prior + between / (between + chance) * (share - prior)
        for model, share, prior, chance in zip(of_kind, shares, likely, noise, strict=True)
    }


def ahead(pair: Pair, elsewhere: Pair, share: float) -> float:
    """Return how often the first of a *pair* of models is the right one where just one of them is.

    *pair* is what the two had right of one kind, *elsewhere* of all others, which counts where that
    is little. *share* is what it would be if they erred independently, which no models do: it only
    keeps the result off 0 and 1.

    Source: McNemar 1947, Psychometrika 12 (only questions that one of the two has right tell which
    is better).
    """
    won, lost = _apart(*pair)
    others = _apart(*elsewhere)
    part = min(1.0, _ELSEWHERE / max(1, sum(others)))
    won, lost = won + part * others[0] + _PRIOR * share, lost + part * others[1]
    return won / (won + lost + _PRIOR * (1 - share))


def independent(first: float, second: float) -> float:
    """Return ``ahead`` of two models of which these shares are right, if they err independently."""
    won, lost = first * (1 - second), second * (1 - first)
    return won / (won + lost)


def _apart(first: Rights, second: Rights) -> tuple[float, float]:
    """Return how many questions just the *first* had right, and just the *second*."""
    both = first.keys() & second.keys()
    won = sum(first[at] and not second[at] for at in both)
    return won, sum(second[at] and not first[at] for at in both)


def _laplace(count: Count) -> float:
    right, of = count
    return (right + 1) / (of + 2)


def _logit(share: float) -> float:
    return math.log(share / (1 - share))


def _expit(value: float) -> float:
    return 1 / (1 + math.exp(-value))
