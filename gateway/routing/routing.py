"""Has a router choose how a request is answered, and makes the plan of what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Final

import structlog

from gateway.channels.overheard import Heard
from gateway.metering.facts import RouterAsked
from gateway.metering.ledger import Meter
from gateway.metering.routed import Routed, read
from gateway.planning.asked import Asked
from gateway.planning.fitting import fitted
from gateway.planning.plan import AUTO, Plan
from gateway.routing.asking import Answer, Asker
from gateway.routing.menu import Menu, Menus
from gateway.routing.offers import Weighed
from gateway.routing.pace import Pace
from router_service.contract import NoExactProfile, RouteDecision
from router_service.features import prompt_of
from techniques.core.errors import GatewayError, NotLearnt, RequestRejected
from techniques.core.events import Warned
from techniques.core.request import Request

_LONGEST: Final = 200

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Routing:
    """Asks for the plans of requests that leave it to a router.

    ``kind`` is that of the router, ``weight`` the lambda of who wishes for none. ``pace`` is how
    long arms have taken. ``listen`` tells where to write down what a technique answers, if that is
    to be judged.
    """

    menus: Menus
    asker: Asker
    kind: str = "fixed"
    weight: float = 1.0
    pace: Pace = field(default_factory=Pace)
    listen: Callable[[], Heard | None] = lambda: None

    async def routed(self, asked: Asked, plan: Plan, record: Meter) -> Plan:
        """Return *plan* as the router has chosen; *record* is told of it.

        Where there is no choice it is what happens without a router, with a warning.

        Raises:
            NotLearnt: The request is strict, and nothing was learnt of its models.
            GatewayError: The request cannot be served without a router either.
        """
        began = perf_counter()
        default = replace(plan, auto=False)
        try:
            request = asked.call.relay.decode()
        except RequestRejected:  # as it is, it may be one that can be passed on
            if plan.card is not None:
                raise
            told = RouterAsked(self.kind, plan.technique, explored=False, seconds=0.0)
            record(replace(told, fallback="unread"))
            return _unrouted(default, "unread", self.weight)
        prompt = prompt_of(request, asked.wishes.category or "")
        menu = self.menus.menu(asked)
        weighed = Weighed(asked, request, prompt.features, self.weight)
        query = weighed.query(menu, self.pace)
        try:
            answer = await self.asker.ask(query, prompt.text)
        except NoExactProfile as none:
            raise NotLearnt(
                f"{none} Learnt were: {', '.join(none.have) or 'none'}.",
                param=asked.wishes.at("strict"),
            ) from None
        made = self._made(asked, menu, request, (answer, default))
        record(_told(self.kind, made, answer, perf_counter() - began))
        return made

    def again(self, asked: Asked, kept: str, plan: Plan) -> Plan | None:
        """Return the plan of the choice that was *kept*, None where it cannot be carried out.

        *plan* is what would be done now.
        """
        try:
            routed = read(kept)
            made = self.menus.plan_of(asked, routed.chosen, routed.params)
            made = fitted(made, asked, asked.call.relay.decode())
        except (ValueError, GatewayError):
            return None
        return replace(made, why=_why(routed), routed=routed, query=plan.query)

    def _made(self, asked: Asked, menu: Menu, request: Request, of: tuple[Answer, Plan]) -> Plan:
        answer, default = of
        query, decision = answer.query, answer.decision
        chosen = None if decision is None else self._chosen(asked, menu, decision)
        if decision is None or chosen is None:
            plain = _unrouted(default, answer.failing or "failed", query.lambda_)
            return replace(fitted(plain, asked, request), query=query)
        made = fitted(chosen, asked, request)
        routed = _routed(decision, query.lambda_)
        notes = tuple(Warned("router_note", note[:_LONGEST]) for note in decision.warnings)
        return replace(
            made,
            why=_why(routed),
            routed=routed,
            query=query,
            heard=self.listen() if made.card is not None else None,
            warnings=(*made.warnings, *notes),
        )

    def _chosen(self, asked: Asked, menu: Menu, decision: RouteDecision) -> Plan | None:
        """Return the plan of *decision*, None where its technique cannot have such options."""
        way = next(way for way in menu.ways if way.name == decision.arm)
        if not decision.params:
            return way.plan
        try:
            return self.menus.plan_of(asked, way.arm, decision.params)
        except GatewayError as error:
            _log.warning("router.params_unusable", arm=way.name, reason=error.message[:_LONGEST])
            return None


def _routed(decision: RouteDecision, lambda_: float) -> Routed:
    return Routed(
        arm=decision.arm,
        why=decision.why[:_LONGEST],
        router=decision.router[:_LONGEST],
        propensity=decision.propensity,
        explored=decision.explored,
        lambda_=lambda_,
        params=decision.params,
    )


def _unrouted(default: Plan, reason: str, lambda_: float) -> Plan:
    """Return *default* as what is done without a router, for *reason*."""
    technique = default.technique
    routed = Routed(technique, f"no router ({reason}): the default technique", lambda_=lambda_)
    warning = Warned("router_unavailable", reason)
    return replace(default, why=_why(routed), routed=routed, warnings=(*default.warnings, warning))


def _why(routed: Routed) -> str:
    return f"{AUTO}, {routed.why}"


def _told(kind: str, plan: Plan, answer: Answer, seconds: float) -> RouterAsked:
    masked = tuple(
        (offer.arm.partition("/")[0], offer.masked) for offer in answer.query.offers if offer.masked
    )
    return RouterAsked(
        kind,
        plan.technique,
        explored=plan.routed is not None and plan.routed.explored,
        seconds=seconds,
        encode_s=answer.encode_s,
        fallback=answer.failing or "",
        masked=tuple(dict.fromkeys(masked)),
    )
