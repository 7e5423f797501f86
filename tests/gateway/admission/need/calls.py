"""Calls to predict, and predictors that have seen some."""

from __future__ import annotations

from collections.abc import Iterable

from gateway.admission.need.conformal import Conformal, Predictor
from gateway.admission.need.traits import Traits
from gateway.admission.need.value import Fit, SubCall
from pricing.usage import Usage

INPUT = 700
PLAIN = Traits(text_bytes=2800, framed=True)


def a_call(
    traits: Traits = PLAIN, *, model: str = "fast", use: str = "plain", role: str = "answer"
) -> SubCall:
    """Return a call with these traits."""
    return SubCall(model, use, role, traits)


def feed(predictor: Predictor, outputs: Iterable[int], call: SubCall | None = None) -> list[Fit]:
    """Have *predictor* see calls like *call* with these outputs; return how it did."""
    call = call or a_call()
    return [
        predictor.record(call, predictor.need(call), Usage(INPUT, output)) for output in outputs
    ]


def taught(outputs: Iterable[int], call: SubCall | None = None) -> Conformal:
    """Return a predictor that saw calls like *call* with these outputs."""
    predictor = Conformal()
    feed(predictor, outputs, call)
    return predictor
