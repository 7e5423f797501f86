"""About what it costs to study one request, before it is done."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean

from gateway.learning.running import Study
from gateway.learning.studies import Drawing
from gateway.metering import estimate
from gateway.policy.models import Model
from pricing.cost import cost
from pricing.price import PICO
from pricing.usage import Usage
from techniques.core.request import Request

_VERDICT = 700  # tokens that a judge may write
_READS = 600  # ... and that it reads beside the request
_SAMPLED = 3.0  # calls of a judge for one sample


def expected_usd(study: Study, request: Request, plain_usd: float | None = None) -> float:
    """Return about what *study* costs, in dollars; what has no price counts nothing.

    *plain_usd* is what a plain call of the request has cost, None if that is not known.
    """
    guess = _usd(request, study.model)
    own = guess if plain_usd is None else plain_usd
    longer = own / guess if guess else 1.0
    judged = 0.0 if study.judge is None else _verdict_usd(request, study.judge)
    beside = [model for model in study.pool if model.name != study.model.name]
    others = [longer * _usd(request, model) for model in beside]
    if not isinstance(study.options, Drawing):
        return own + sum(others) + _SAMPLED * judged
    drawing = study.options
    answers = drawing.samples + len(others) + len(drawing.efforts)
    valuer = study.valuer or study.judge
    valued = 0.0 if valuer is None else _verdict_usd(request, valuer)
    return (
        own * (drawing.samples + len(drawing.efforts))
        + sum(others)
        + judged * drawing.samples * drawing.judged
        + valued * answers * drawing.valued
    )


class Usual:
    """What studies of each kind have cost beside what was expected, as a factor."""

    def __init__(self) -> None:
        self._factors: defaultdict[str, list[float]] = defaultdict(list)

    def expected(self, kind: str, usd: float) -> float:
        """Return *usd* as experience corrects it."""
        known = self._factors[kind]
        return usd * fmean(known) if known else usd

    def learn(self, kind: str, expected_usd: float, usd: float) -> None:
        """Remember what one cost that was *expected* to cost so much."""
        if expected_usd > 0:
            known = self._factors[kind]
            known.append(usd / expected_usd)
            del known[:-_KEPT]


_KEPT = 50


def _usd(request: Request, model: Model) -> float:
    return float(estimate.cost_like(request, model.price, ()) / PICO)


def _verdict_usd(request: Request, judge: Model) -> float:
    if judge.price is None:
        return 0.0
    usage = Usage(estimate.input_tokens(request) + _READS, _VERDICT)
    return float(cost(usage, judge.price) / PICO)
