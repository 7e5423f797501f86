"""The two ways to learn weights for a few features: ridge, and multinomial logit."""

from __future__ import annotations

from typing import Final

import numpy as np

from router_service.estimating.partition import Numbers

_STEPS: Final = 60
_SMALL: Final = 1e-7
_TINY: Final = 1e-300
_SCALES: Final = (1.0, 0.5, 0.25, 0.05, 0.005)


def ridge(features: Numbers, values: Numbers, weights: Numbers, alpha: float) -> Numbers:
    """Return the weights of *features* (the first is the bias) for *values*; NaN is left out.

    ``(F'DF + alpha I)^-1 F'D values``; the bias is not penalised.
    Source: Hoerl and Kennard 1970.
    """
    there = ~np.isnan(values) & (weights > 0)
    known, each = features[there], weights[there]
    penalty = alpha * np.eye(features.shape[1])
    penalty[0, 0] = _SMALL
    left = known.T @ (each[:, None] * known) + penalty
    return np.asarray(np.linalg.solve(left, known.T @ (each * values[there])))


def logit(features: Numbers, hit: Numbers, weights: Numbers, alpha: float) -> Numbers:
    """Return the weights, a column a class, by which the class that was *hit* is likeliest.

    *hit* has a column a class, 1 for the best one. Penalised by ``alpha / 2`` times the squares of
    the weights, but for the bias. Newton's method: the problem is convex and small.
    Source: Hastie, Tibshirani and Friedman 2009, section 4.4.
    """
    problem = _Logit(features, hit, weights, alpha)
    found = np.zeros((features.shape[1], hit.shape[1]))
    now = problem.loss(found)
    for _ in range(_STEPS):
        step = problem.step(found)
        tried = [(problem.loss(found - scale * step), scale) for scale in _SCALES]
        then, scale = min(tried)
        if now - then < _SMALL * max(1.0, abs(now)):
            return found
        found, now = found - scale * step, then
    return found


def likely(features: Numbers, weights: Numbers) -> Numbers:
    """Return how likely each class is the best one for each row."""
    scores = features @ weights
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


class _Logit:
    def __init__(self, features: Numbers, hit: Numbers, weights: Numbers, alpha: float) -> None:
        self._features = features
        self._hit = hit
        self._weights = weights
        self._penalty = np.full((features.shape[1], hit.shape[1]), alpha)
        self._penalty[0] = _SMALL

    def loss(self, found: Numbers) -> float:
        chances = likely(self._features, found)
        told = -np.log(np.maximum((chances * self._hit).sum(axis=1), _TINY))
        return float(self._weights @ told + (self._penalty * found**2).sum() / 2)

    def step(self, found: Numbers) -> Numbers:
        """Return the step of Newton's method."""
        width, count = found.shape
        chances = likely(self._features, found)
        apart = self._weights[:, None] * (chances - self._hit)
        slope = self._features.T @ apart + self._penalty * found
        curve = np.zeros((count, width, count, width))
        for one in range(count):
            for other in range(count):
                each = self._weights * chances[:, one] * ((one == other) - chances[:, other])
                curve[one, :, other] = self._features.T @ (each[:, None] * self._features)
        flat = curve.reshape(count * width, count * width)
        flat += np.diag(self._penalty.T.reshape(-1) + _SMALL)
        return np.asarray(np.linalg.solve(flat, slope.T.reshape(-1)).reshape(count, width).T)
