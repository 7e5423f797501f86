"""What scipy knows of distributions and ranks, with types: the one place that imports it."""

from __future__ import annotations

import warnings
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Numbers: TypeAlias = NDArray[np.float64]
Alternative: TypeAlias = Literal["two-sided", "less", "greater"]
_EXACT_UP_TO: Final = 50  # differences, none alike, of which the exact distribution is counted


def normal_quantile(share: float) -> float:
    """Return below which value *share* of a standard normal distribution lies."""
    return float(stats.norm.ppf(share))


def normal_share(value: float) -> float:
    """Return which share of a standard normal distribution lies below *value*."""
    return float(stats.norm.cdf(value))


def t_quantile(share: float, freedom: float) -> float:
    """Return below which value *share* of Student's distribution lies."""
    return float(stats.t.ppf(share, freedom))


def beta_quantile(share: float, a: float, b: float) -> float:
    """Return below which value *share* of a beta distribution lies."""
    return float(stats.beta.ppf(share, a, b))


def binomial_p(hits: int, tries: int, alternative: Alternative) -> float:
    """Return the exact p of *hits* in *tries* of a fair coin; 1 without any try."""
    if not tries:
        return 1.0
    return float(stats.binomtest(hits, tries, 0.5, alternative=alternative).pvalue)


def signed_rank_p(differences: Numbers, alternative: Alternative) -> float:
    """Return the p of Wilcoxon's signed-rank test; zeros are ranked, and then left out (Pratt).

    Source: Pratt 1959, JASA 54(287).
    """
    if not np.any(differences):
        return 1.0
    sizes = np.abs(differences)
    distinct = bool(sizes.all()) and len(np.unique(sizes)) == len(sizes)
    method = "exact" if distinct and len(sizes) <= _EXACT_UP_TO else "asymptotic"
    with warnings.catch_warnings():  # that few are not normal: whoever asks knows
        warnings.simplefilter("ignore")
        found = stats.wilcoxon(
            differences, zero_method="pratt", alternative=alternative, method=method
        )
    return float(found.pvalue)


def rank_correlation(xs: Numbers, ys: Numbers) -> float | None:
    """Return Spearman's correlation; None where one of both never changes."""
    if len(xs) < 3 or np.ptp(xs) == 0 or np.ptp(ys) == 0:
        return None
    return float(stats.spearmanr(xs, ys).statistic)
