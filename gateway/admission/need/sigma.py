"""The legacy predictor: agentpause's estimates, for ``predictor: legacy``."""

from __future__ import annotations

from math import ceil
from typing import Final

from gateway.admission.legacy.estimator import Estimator, Terms
from gateway.admission.need.inputs import Inputs
from gateway.admission.need.times import Times
from gateway.admission.need.value import Fit, Latency, Need, Past, SubCall, Timing
from pricing.usage import Usage

_K: Final = 2.0
_FEW: Final = 5
_MOST_HELD: Final = 200


class Legacy:
    """Expects a call to use agentpause's estimate of its model, and *k* deviations more.

    With *share*, that quantile of the last errors takes their place once there are eight.
    """

    __slots__ = ("_estimators", "_inputs", "_share", "_terms", "_times", "k")

    def __init__(self, terms: Terms, k: float = _K, share: float | None = None) -> None:
        self.k = k
        self._terms = terms
        self._share = share
        self._inputs = Inputs()
        self._times = Times()
        self._estimators: dict[str, Estimator] = {}

    def need(self, call: SubCall) -> Need:
        """Return what *call* will use; its output is what the estimate has beyond the input."""
        entry = self._inputs.bound(call)
        estimator = self._of(call.model)
        estimate = estimator.estimate(entry)
        upper = None if self._share is None else estimator.upper(entry, self._share)
        total = upper or ceil(estimate + self.k * estimator.sigma(estimate))
        output = max(total - entry, 0)
        stated = call.traits.stated
        most = (call.most_output or output) if stated is None else stated
        return Need(
            entry, min(output, most), min(max(estimate - entry, 0), most), most, learned=output
        )

    def latency(self, call: SubCall) -> Latency | None:
        """Return how long *call* will take; None until enough is known."""
        return self._times.latency(call)

    def past(self, call: SubCall) -> Past:
        """Return what calls like *call* came to; of their outputs it keeps none."""
        return Past((), *self._times.past(call, _FEW), self._inputs.usual(call))

    def record(self, call: SubCall, need: Need, usage: Usage, timing: Timing | None = None) -> Fit:
        """Take in what *call* used, for which *need* was said; return how the two compare."""
        self._inputs.record(call, need, usage)
        if timing is not None:
            self._times.record(call, usage.output_tokens, timing)
        estimator = self._of(call.model)
        estimator.record(usage.input_tokens, usage.total_tokens)
        if estimator.samples > 2 * _MOST_HELD:
            estimator.restore(estimator.state())
        return Fit(
            usage.input_tokens > need.input,
            usage.output_tokens > need.output,
            need.total,
            usage.total_tokens,
            None,
            need.ground,
        )

    def _of(self, model: str) -> Estimator:
        return self._estimators.setdefault(model, Estimator(self._terms))
