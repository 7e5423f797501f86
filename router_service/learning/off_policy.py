"""Whether other parameters would have done better on what was observed, before they are served.

What was done is known, and how likely it was; of what another policy would have done that is a
sample, weighted. Sources: Dudík et al. 2011, arXiv:1103.4601 (doubly robust); Swaminathan and
Joachims 2015 (self-normalised weights); Rubin 1981 (the bootstrap that weighs instead of drawing).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

MOST_WEIGHT: Final = 20.0
_REPEATS: Final = 1000
_LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True)
class Logged:
    """What was done for some requests, a row each; arms are columns.

    ``chosen`` are the columns of what was done, ``propensity`` how likely that was, and ``utility``
    what came of it, in points. ``expected`` is what a model says of each row and arm that has not
    seen that row. Rows of one ``cluster`` are not independent of each other.
    """

    chosen: np.ndarray
    propensity: np.ndarray
    utility: np.ndarray
    expected: np.ndarray
    cluster: np.ndarray


@dataclass(frozen=True, slots=True)
class Value:
    """What a policy is worth, in points, or by how much two differ; with its 95 % interval.

    ``rows`` are those that say something of it: that it might have done just what was done.
    """

    mean: float
    low: float
    high: float
    rows: float = 0.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two policies on the same rows, and their difference, doubly robust.

    ``…_snips``: by self-normalised weights.
    """

    current: Value
    candidate: Value
    gain: Value
    current_snips: Value
    candidate_snips: Value
    gain_snips: Value


def compared(
    logged: Logged, current: np.ndarray, candidate: np.ndarray, random: np.random.Generator
) -> Comparison:
    """Return what the two policies are worth on what was *logged*.

    Each policy is a row of chances for each row of *logged*, one column an arm.
    """
    parts = [_parts(logged, policy) for policy in (current, candidate)]
    resampled = _resampled(logged.cluster, random)
    robust = [_robust(part, resampled) for part in parts]
    normalised = [_normalised(part, resampled) for part in parts]
    gain = _interval(robust[1] - robust[0], parts[1].rows)
    gain_snips = _interval(normalised[1] - normalised[0], parts[1].rows)
    values = [_interval(way, part.rows) for way, part in zip(robust, parts, strict=True)]
    snips = [_interval(way, part.rows) for way, part in zip(normalised, parts, strict=True)]
    return Comparison(values[0], values[1], gain, snips[0], snips[1], gain_snips)


def means(logged: Logged) -> np.ndarray:
    """Return what it is worth to do the same each time, for each arm, doubly robust."""
    arms = logged.expected.shape[1]
    each = np.eye(arms)
    found = [_parts(logged, np.tile(one, (len(logged.chosen), 1))) for one in each]
    return np.array([float((one.expected + one.weight * one.surprise).mean()) for one in found])


def promoted(found: Comparison, least_rows: float = 30.0) -> bool:
    """Tell whether the candidate may be served: it is no worse, by the lower end of its interval.

    That takes enough rows that say something of it.
    """
    return found.candidate.rows >= least_rows and found.gain.low >= 0


@dataclass(frozen=True, slots=True)
class _Parts:
    expected: np.ndarray  # what the model says of what the policy would do
    weight: np.ndarray
    surprise: np.ndarray  # by how much what came of it differs from what the model says
    utility: np.ndarray

    @property
    def rows(self) -> float:
        squares = float((self.weight**2).sum())
        return float(self.weight.sum()) ** 2 / squares if squares else 0.0


def _parts(logged: Logged, policy: np.ndarray) -> _Parts:
    rows = np.arange(len(logged.chosen))
    weight = np.minimum(policy[rows, logged.chosen] / logged.propensity, MOST_WEIGHT)
    surprise = logged.utility - logged.expected[rows, logged.chosen]
    return _Parts((policy * logged.expected).sum(axis=1), weight, surprise, logged.utility)


@dataclass(frozen=True, slots=True)
class _Resampling:
    """What each cluster counts in each bootstrap sample, 1 in the first; and whose rows are."""

    times: np.ndarray
    index: np.ndarray

    def sums(self, each: np.ndarray) -> np.ndarray:
        """Return the sum of a value of *each* row over the rows of each sample."""
        total: np.ndarray = self.times @ np.bincount(self.index, weights=each)
        return total


def _resampled(cluster: np.ndarray, random: np.random.Generator) -> _Resampling:
    _, index = np.unique(cluster, return_inverse=True)
    count = int(index.max()) + 1
    drawn = random.standard_exponential((_REPEATS, count))
    return _Resampling(np.vstack([np.ones(count), drawn]), index)


def _robust(parts: _Parts, samples: _Resampling) -> np.ndarray:
    each = parts.expected + parts.weight * parts.surprise
    return _ratio(samples.sums(each), samples.sums(np.ones_like(each)))


def _normalised(parts: _Parts, samples: _Resampling) -> np.ndarray:
    return _ratio(samples.sums(parts.weight * parts.utility), samples.sums(parts.weight))


def _ratio(sums: np.ndarray, weights: np.ndarray) -> np.ndarray:
    ratio: np.ndarray = sums / np.maximum(weights, 1e-12)
    return ratio


def _interval(values: np.ndarray, rows: float) -> Value:
    """Return the first of *values*, and the interval that the others make of it."""
    tail = 50 * (1 - _LEVEL)
    low, high = np.percentile(values[1:], [tail, 100 - tail])
    return Value(float(values[0]), float(low), float(high), rows)


def certain(choices: Sequence[int], arms: int) -> np.ndarray:
    """Return the policy that does just these *choices*."""
    policy = np.zeros((len(choices), arms))
    policy[np.arange(len(choices)), np.asarray(choices, dtype=int)] = 1.0
    return policy
