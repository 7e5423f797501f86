"""What an arm is likely to cost before anything was learnt: in calls, and in plain calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from gateway.metering import estimate
from gateway.planning.plan import Plan
from gateway.policy.models import Model
from pricing.cost import cost
from pricing.usage import Usage
from router_service.arms import Arm
from techniques.core.request import Request

_OUTPUT: Final = 256
_THINKING: Final = 2.0
"""How much longer an answer is that was thought about hard, its thoughts with it."""
_GOES_ON: Final = 0.4
"""How often a cascade comes to the stronger model."""
_CHECK: Final = 0.5
_UNTOLD: Final = 4.0
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")


class Load(NamedTuple):
    """Calls of the model that answers, of the judge, and of each model of the pool."""

    own: float = 1.0
    judge: float = 0.0
    each: float = 0.0


_LOADS: Final[Mapping[str, Callable[[float], Load]]] = {
    "self_consistency": lambda draws: Load(0.78 * draws),
    "best_of_n": lambda draws: Load(draws, draws / 2),
    "harq_ir": lambda rounds: Load(1 + rounds / 4, 1 + rounds / 7),
    "chain_of_verification": lambda questions: Load(3 + questions),
    "mixture_of_agents": lambda _: Load(1.0, 0.0, 1.0),
    "self_moa": lambda proposers: Load(1 + proposers),
    "baseline": lambda _: Load(),
    "effort_up": lambda _: Load(),
    "re2": lambda _: Load(),
}
_SIZES: Final = {
    "self_consistency": 5,
    "best_of_n": 5,
    "harq_ir": 5,
    "chain_of_verification": 3,
    "self_moa": 3,
}
"""What is meant where an arm says no size."""


@dataclass(frozen=True, slots=True)
class Bill:
    """What is expected of an arm, whatever the request: calls, and how many of which model.

    ``parts`` are in calls as long as the plain one; where an answer is thought about, longer ones.
    """

    calls: float
    parts: tuple[tuple[float, Model], ...]


NOTHING_ASKED: Final = Bill(0.0, ())


def bill(plan: Plan, arm: Arm) -> Bill:
    """Return what carrying *plan* out for *arm* is likely to come to."""
    longer = _THINKING if arm.effort else 1.0
    if plan.card is None:
        return Bill(1.0, ((longer, plan.model),))
    name = plan.card.name
    if name == "cascade":
        return Bill(2.0, ((1 + _CHECK, plan.model), (_GOES_ON, plan.pool[-1])))
    load = _load(name, arm, plan)
    parts = [(longer * load.own, plan.model)]
    if load.judge:
        parts.append((load.judge, plan.judge or plan.model))
    pool = plan.pool if load.each else ()
    parts += [(load.each, one) for one in pool]
    return Bill(load.own + load.judge + load.each * len(pool), tuple(parts))


class Scale:
    """Weighs what arms cost against the plain call of *request* by *model*."""

    def __init__(self, request: Request, model: Model) -> None:
        self._request = request
        allowed = request.sampling.max_output_tokens or _OUTPUT
        self._usage = Usage(estimate.input_tokens(request), min(allowed, _OUTPUT))
        self._plain = self._price(model)
        self._name = model.target.shown
        self._known: dict[str, float | None] = {self._name: 1.0}

    @property
    def plain(self) -> int | None:
        """Picodollars of the plain call, None if its price is not known."""
        return self._plain

    def cost(self, of: Bill) -> float | None:
        """Return what the parts *of* a bill come to in plain calls, None if that is not known."""
        total = 0.0
        for calls, model in of.parts:
            times = self._times(model)
            if times is None:
                return None
            total += calls * times
        return total

    def _times(self, model: Model) -> float | None:
        """Return how much dearer a call of *model* is than the plain one; None: not to be told."""
        shown = model.target.shown
        if shown not in self._known:
            its = self._price(model)
            self._known[shown] = _ratio(its, self._plain)
        return self._known[shown]

    def _price(self, model: Model) -> int | None:
        if model.price is None:
            return None
        current = estimate.asked_at(self._request, model.price)
        return max(cost(self._usage, one) for one in current)


def _ratio(its: int | None, plain: int | None) -> float | None:
    if its is None or plain is None:
        return None
    if plain == 0:
        return 1.0 if its == 0 else None
    return its / plain


def _load(name: str, arm: Arm, plan: Plan) -> Load:
    if name in _LOADS:
        return _LOADS[name](arm.size or _SIZES.get(name, 1))
    assert plan.card is not None
    said = _NUMBER.findall(plan.card.traits.typical)
    if "each model" in plan.card.traits.typical:
        return Load(1.0, 0.0, float(said[0]) if said else 1.0)
    return Load(float(said[0]) if said else _UNTOLD)
