"""Which configurations nothing else beats, and how sure that is."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from router_service.evaluation.statistics.distributions import Numbers
from router_service.evaluation.statistics.resampling import Clustered, drawn

EPSILON: Final = 0.005
"""What is no nearer apart than this is level: of a quality, or as a share of a cost or a time."""


def frontier(costs: Numbers, relative: NDArray[np.bool]) -> NDArray[np.bool]:
    """Return which of *costs* (draws x configurations x objectives) nothing else beats.

    Less is better. One beats another that is nowhere worse by more than ``EPSILON``, and somewhere
    better by more. Of *relative* objectives that is a share. Where each is beaten by some other,
    none is told apart by it, and all that nothing beats without ``EPSILON`` are meant.
    """
    near = _unbeaten(costs, relative, EPSILON)
    lost = np.flatnonzero(near.sum(-1) == 0)
    if len(lost):
        near[lost] = _unbeaten(costs[lost], relative, 0.0)
    return near


def _unbeaten(costs: Numbers, relative: NDArray[np.bool], epsilon: float) -> NDArray[np.bool]:
    one, other = costs[:, :, None, :], costs[:, None, :, :]
    size = np.where(relative, np.maximum(np.abs(one), np.abs(other)), 1.0)
    apart = one - other
    beaten = (apart >= -epsilon * size).all(-1) & (apart > epsilon * size).any(-1)
    unbeaten: NDArray[np.bool] = np.logical_not(np.any(beaten, axis=-1, keepdims=False))
    return unbeaten


def chances(
    units: Clustered, shape: tuple[int, int], relative: NDArray[np.bool], seed: int = 0
) -> list[float]:
    """Return how often each configuration is on the frontier of samples of *units*.

    Columns of *units* are configurations times objectives, in the order of *shape*.
    """
    hits = np.zeros(shape[0])
    total = 0
    for sums, counts in drawn(units, seed):
        on = frontier((sums / counts[:, None]).reshape(-1, *shape), relative)
        hits += on.sum(0)
        total += len(on)
    return [float(value) for value in hits / total]
