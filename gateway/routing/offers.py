"""What a router is offered for a request: each arm with what it costs, or why it must not be."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from gateway.planning.asked import Asked
from gateway.planning.plan import Plan
from gateway.planning.planner import CASCADE
from gateway.routing.bars import barred, too_dear
from gateway.routing.costs import Scale
from gateway.routing.menu import Menu, Way
from gateway.routing.pace import Pace
from pricing.record import record
from router_service.arms import PLAIN, Arm
from router_service.contract import Features, Offer, RouteQuery
from techniques.core.request import Request

_PICO: Final = 1e12


@record(frozen=True, slots=True)
class Weighed:
    """A request whose arms are weighed. ``weight`` is the lambda of who wishes for none."""

    asked: Asked
    request: Request
    features: Features
    weight: float

    def query(self, menu: Menu, pace: Pace) -> RouteQuery:
        """Return what the router is asked: to choose from *menu*."""
        wishes, scale = self.asked.wishes, Scale(self.request, menu.model)
        offers = [self._offer(way, scale, pace) for way in menu.ways]
        if offers[0].masked:  # what happens then is a plain call
            offers.sort(key=lambda offer: offer.arm != PLAIN.name)
        return RouteQuery.model_construct(
            model=menu.model.name,
            offers=tuple(offers),
            features=self.features,
            vector=None,
            pool=menu.pool,
            lambda_=self.weight if wishes.lambda_ is None else wishes.lambda_,
            strict=bool(wishes.strict),
            explore=wishes.explore is not False and not wishes.strict,
            plain_usd=None if scale.plain is None else scale.plain / _PICO,
        )

    def _offer(self, way: Way, scale: Scale, pace: Pace) -> Offer:
        if way.plan is None:
            return _offered(way.name, None, way.barred)
        cost, masked = scale.cost(way.bill), ""
        if not way.arm.is_plain:
            masked = way.barred or self._barred(way, way.plan, (cost, scale.plain, pace))
        if cost is None and not masked:  # nothing has a price: what counts is how many there are
            cost = way.bill.calls
        return _offered(way.name, cost, masked)

    def _barred(self, way: Way, plan: Plan, of: tuple[float | None, int | None, Pace]) -> str:
        """Return why *way* must not be chosen for this request, "" if it may be."""
        cost, plain, pace = of
        if reason := barred(plan, self.request, self.features, self.asked.wishes.n_policy):
            return reason
        if cost is None and (plain is not None or _asks_another(plan, way.arm)):
            return "price"  # how much dearer it is must be known
        money = None if cost is None or plain is None else cost * plain
        if reason := too_dear(plan.caps, way.bill.calls, money):
            return reason
        slow = pace.is_too_slow(plan.model.name, way.name, plan.deadline_s)
        return "deadline" if slow else ""


@lru_cache(maxsize=4096)
def _offered(arm: str, cost: float | None, masked: str) -> Offer:
    return Offer.model_construct(arm=arm, cost=cost, masked=masked)


def _asks_another(plan: Plan, arm: Arm) -> bool:
    """Return whether another model than the one asked for may give the answer."""
    return arm.channel != PLAIN.channel or plan.technique == CASCADE
