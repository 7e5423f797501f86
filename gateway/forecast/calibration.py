"""Compares what was forecast of a run with what came of it, once it has ended."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from time import monotonic
from typing import Final, TypeAlias

from gateway.metering.ledger import Fact, RequestFinished
from gateway.metering.meters.forecast import ForecastMeter
from pricing.price import PICO
from techniques.core.json import JsonObject

Name: TypeAlias = tuple[str | None, str]
"""A key, and the run or session that it names."""

_MOST: Final = 1000
_LEAST: Final = 1e-9
SHARES: Final = {"p50": 0.5, "p90": 0.9}
COMPARED: Final = ("tokens", "usd", "wall_s")


def pinball(share: float, said: float, came: float) -> float:
    """Return the loss of having said that *share* of all is below *said*, when *came* came.

    Source: Koenker and Bassett 1978, "Regression quantiles".
    """
    return max(share * (came - said), (share - 1) * (came - said))


@dataclass(slots=True)
class _Run:
    said: Mapping[str, Mapping[str, float]]
    left: int
    began: float | None = None
    tokens: int = 0
    cost: Decimal | None = field(default_factory=Decimal)


class Calibration:
    """A meter: keeps up to 1,000 forecasts of runs, and judges each when its last step has ended.

    A run is told by its key and by the name that its requests bear, of a run or of a session.
    """

    def __init__(self, meter: ForecastMeter, clock: Callable[[], float] = monotonic) -> None:
        self._meter = meter
        self._clock = clock
        self._runs: OrderedDict[Name, _Run] = OrderedDict()

    def __len__(self) -> int:
        """Return how many runs have not ended."""
        return len(self._runs)

    def keep(self, name: Name, told: JsonObject) -> None:
        """Remember what was *told* of a run; of one that was forecast before, this counts."""
        said = {
            quantile: {
                measure: float(told[quantile][measure])
                for measure in COMPARED
                if told[quantile][measure] is not None
            }
            for quantile in SHARES
        }
        self._runs.pop(name, None)
        self._runs[name] = _Run(said, told["steps"] * told["concurrency"])
        if len(self._runs) > _MOST:
            self._runs.popitem(last=False)

    def __call__(self, facts: Sequence[Fact]) -> None:
        """Take in the requests that have ended."""
        if not self._runs:
            return
        for fact in facts:
            if isinstance(fact, RequestFinished):
                self._ended(fact)

    def _ended(self, fact: RequestFinished) -> None:
        name = self._name(fact)
        run = None if name is None else self._runs.get(name)
        if run is None or name is None:
            return
        now = self._clock()
        if run.began is None:
            run.began = now - fact.seconds
        for row in fact.rows:
            run.tokens += row.usage.total_tokens
            if run.cost is not None:
                run.cost = None if row.cost is None else run.cost + row.cost
        run.left -= fact.outcome == "success"
        if run.left <= 0:
            del self._runs[name]
            self._judge(run, now - run.began)

    def _name(self, fact: RequestFinished) -> Name | None:
        """Return the name by which the run of *fact* was forecast, None if it was not."""
        for named in (fact.run, fact.session):
            if named is not None and (fact.key, named) in self._runs:
                return fact.key, named
        return None

    def _judge(self, run: _Run, wall_s: float) -> None:
        came = {"tokens": float(run.tokens), "wall_s": wall_s}
        if run.cost is not None:
            came["usd"] = float(run.cost / PICO)
        for quantile, said in run.said.items():
            for measure, figure in said.items():
                if measure in came:
                    self._compare(measure, quantile, figure, came[measure])

    def _compare(self, measure: str, quantile: str, said: float, came: float) -> None:
        loss = pinball(SHARES[quantile], said, came) / max(abs(came), _LEAST)
        self._meter.judged(measure, quantile, loss=loss, below=came <= said)
