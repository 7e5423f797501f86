"""agentpause's estimator with features: what a call costs may depend on what it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import pstdev
from typing import Final, TypeAlias

from gateway.admission.legacy.estimator import DEFAULT, Estimator, Terms
from gateway.admission.legacy.ridge import Features, Line, fit
from techniques.core.json import Json

Told: TypeAlias = float | str
"""A number, a truth value or a word."""

_FEW: Final = 4


@dataclass(frozen=True, slots=True)
class Fitting:
    """How features are fitted: from how many calls on, how much shrunk, over how many calls."""

    min_samples: int = 6
    ridge: float = 1.0
    sample_cap: int = 500


DEFAULT_FITTING: Final = Fitting()

_Row: TypeAlias = tuple[Features, float, float | None]
"""Features of a call, the tokens it used, and its seconds if they were told."""


class FeatureEstimator(Estimator):
    """An estimator that learns how cost depends on the input and on what the caller says of it.

    Source: agentpause 0.5.0, ``FeatureEstimator``.
    """

    __slots__ = ("_context", "_fitting", "_rows", "_seconds", "_tokens")

    def __init__(self, terms: Terms = DEFAULT, fitting: Fitting = DEFAULT_FITTING) -> None:
        super().__init__(terms)
        self._fitting = fitting
        self._rows: list[_Row] = []
        self._context: Features = {}
        self._tokens: Line | None = None
        self._seconds: Line | None = None

    def about(self, context: Mapping[str, Told]) -> None:
        """Say of the next call what it is about; it holds until that call is recorded."""
        self._context = dict(_feature(name, value) for name, value in context.items())

    def estimate(self, tokens: int) -> int:
        """Return the tokens that the next call will use, with an input of *tokens*."""
        if self._tokens is None:
            return super().estimate(tokens)
        return max(self.terms.min_estimate, int(self._tokens.at(self._features(tokens))))

    def sigma(self, estimate: float) -> float:
        """Return the standard deviation of *estimate*, in tokens."""
        line = self._tokens
        if line is None or len(self._rows) < _FEW:
            return super().sigma(estimate)
        return pstdev(used - line.at(features) for features, used, _ in self._rows)

    def latency(self, tokens: int) -> float | None:
        """Return the seconds that the next call will take; None until enough were told."""
        return None if self._seconds is None else self._seconds.at(self._features(tokens))

    def record(self, tokens: int, realized: int, seconds: float | None = None) -> None:
        """Take in what a call used, and in how many *seconds*; forget what it was about."""
        super().record(tokens, realized)
        self._rows.append((self._features(tokens), realized, seconds))
        del self._rows[: -self._fitting.sample_cap]
        self._context = {}
        self._refit()

    def state(self) -> dict[str, Json]:
        """Return what a later estimator needs to go on."""
        return {**super().state(), "rows": [[dict(row[0]), *row[1:]] for row in self._rows]}

    def restore(self, state: Mapping[str, Json]) -> None:
        """Go on where the estimator was that gave *state*."""
        super().restore(state)
        self._rows = [(features, used, seconds) for features, used, seconds in state["rows"]]
        self._refit()

    def _features(self, tokens: int) -> Features:
        return {"input_tokens": float(tokens), **self._context}

    def _refit(self) -> None:
        timed = [(row, seconds) for row, _, seconds in self._rows if seconds is not None]
        self._tokens = self._fit([(row, used) for row, used, _ in self._rows])
        self._seconds = self._fit(timed)

    def _fit(self, samples: list[tuple[Features, float]]) -> Line | None:
        if len(samples) < self._fitting.min_samples:
            return None
        rows, values = zip(*samples, strict=True)
        return fit(rows, values, self._fitting.ridge)


def _feature(name: str, value: Told) -> tuple[str, float]:
    return (f"{name}={value}", 1.0) if isinstance(value, str) else (name, float(value))
