"""What there is to choose from for a model: each arm with its plan, or with why it must not be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from gateway.planning.asked import Asked
from gateway.planning.options import size_option
from gateway.planning.plan import NONE, Plan
from gateway.planning.planner import CASCADE, Planner
from gateway.policy.keys import Caller
from gateway.policy.models import Model
from gateway.policy.wishes import Wishes
from gateway.routing.costs import NOTHING_ASKED, Bill, bill
from gateway.routing.specs import pool_of
from router_service.arms import PLAIN, Arm
from router_service.contract import ModelSpec
from techniques.core.errors import Denied, RequestRejected
from techniques.core.json import NOTHING, Json

SIZED: Final = (
    Arm("self_consistency", 3),
    Arm("self_consistency", 5),
    Arm("best_of_n", 3),
    Arm("best_of_n", 5),
    Arm("harq_ir", 2),
    Arm("chain_of_verification", 3),
    Arm("mixture_of_agents"),
    Arm("self_moa"),
)
HARDER: Final = Arm(effort="high")
_MOST_KNOWN: Final = 256
_AT_ANY_CONFIDENCE: Final = frozenset({"cascade", "acm", "acm_learned"})
"""Techniques that know what to do without log-probabilities, though they are better with them."""
_TELLING: Final = (
    "params",
    "channels",
    "judge",
    "critic",
    "max_cost_usd",
    "max_calls",
    "deadline_ms",
    "on_error",
    "fallbacks",
    "strict",
)
"""Wishes without which all plans for a model and a caller are alike."""


@dataclass(frozen=True, slots=True)
class Way:
    """An arm, and the plan that carries it out; None where ``barred`` says why there is none.

    ``bill`` is what the plan is likely to come to.
    """

    arm: Arm
    name: str
    plan: Plan | None
    barred: str = ""
    bill: Bill = NOTHING_ASKED


@dataclass(frozen=True, slots=True)
class Menu:
    """The ways for one model and caller, the first of them what happens without a router.

    ``pool`` is what a router is told of all models that may answer, the one asked for first.
    """

    model: Model
    ways: tuple[Way, ...]
    pool: tuple[ModelSpec, ...]


@dataclass(frozen=True, slots=True)
class Menus:
    """Makes menus. Those for wishes that change nothing are kept in ``known``.

    ``stated`` are the arms of the configuration, empty: what suits a model.
    """

    planner: Planner
    stated: tuple[Arm, ...] = ()
    known: dict[tuple[str, int], tuple[Caller, Menu]] = field(default_factory=dict)

    def menu(self, asked: Asked) -> Menu:
        """Return what there is to choose from for *asked*, a request that leaves it to a router."""
        wishes, caller = asked.wishes, asked.caller
        if any(getattr(wishes, name) is not None for name in _TELLING) or wishes.ignored:
            return self._made(asked)
        key = asked.call.model, id(caller)
        known = self.known.get(key)
        if known is None or known[0] is not caller:
            if len(self.known) >= _MOST_KNOWN:
                self.known.clear()
            known = self.known[key] = caller, self._made(asked)
        return known[1]

    def plan_of(self, asked: Asked, arm: Arm, params: Mapping[str, Json] = NOTHING) -> Plan:
        """Return the plan that carries *arm* out, with the options *params* where none are wished.

        Raises:
            GatewayError: There is none.
        """
        wishes = asked.wishes
        if params:
            wishes = replace(wishes, params={**params, **(wishes.params or {})})
        return self.planner.plan(asked.call, asked.caller, wishes, arm)

    def _made(self, asked: Asked) -> Menu:
        model = self.planner.permitted(asked.call.model, asked.caller)
        ways = tuple(self._way(asked, arm) for arm in self._arms(model, asked.wishes))
        return Menu(model, ways, pool_of((model, *_answering(ways))))

    def _arms(self, model: Model, wishes: Wishes) -> Sequence[Arm]:
        """Return the arms, each once: a size that the request states takes the place of its own."""
        first = Arm(self.planner.defaults.first)
        arms = (first, PLAIN, *(self.stated or suitable(model)))
        sized = (self._resized(arm, wishes.params or {}) for arm in arms)
        return tuple(dict.fromkeys(sized))

    def _resized(self, arm: Arm, params: Mapping[str, Json]) -> Arm:
        card = self.planner.cards.get(arm.technique)
        if card is None or arm.size is None:
            return arm
        said = params.get(size_option(card))
        return arm._replace(size=said) if isinstance(said, int) and said > 0 else arm

    def _way(self, asked: Asked, arm: Arm) -> Way:
        try:
            plan = self.plan_of(asked, arm)
        except Denied:
            return Way(arm, arm.name, None, "key")
        except RequestRejected as error:
            return Way(arm, arm.name, None, _REJECTED.get(error.code, "not possible"))
        return Way(arm, arm.name, plan, _lacks(plan), bill(plan, arm))


_REJECTED: Final = {"price_unknown": "price", "invalid_option": "options"}


def suitable(model: Model) -> Iterator[Arm]:
    """Yield the arms that suit *model*, beside the plain call."""
    yield from SIZED
    if model.target.thinks.able:
        yield HARDER
    if model.stronger is not None:
        yield Arm(NONE, None, model.stronger)
        yield Arm(CASCADE)


def _answering(ways: Iterable[Way]) -> Iterator[Model]:
    for way in ways:
        if way.plan is not None:
            yield way.plan.model
            yield from way.plan.pool


def _lacks(plan: Plan) -> str:
    """Return what the technique of *plan* needs and does not have, "" if that is nothing."""
    if plan.card is None:
        return ""
    needs, target = plan.card.traits.needs, plan.model.target
    lacking = {
        "two models": len({one.target.shown for one in plan.pool}) < 2,
        "judge": plan.judge is None or plan.judge.target.shown == target.shown,
        "log-probabilities": plan.card.name not in _AT_ANY_CONFIDENCE
        and not target.capabilities.logprobs,
        "a reasoning model": not target.thinks.able,
        "tests": not getattr(plan.options, "tests", None),
    }
    return next((need for need in needs if lacking.get(need, False)), "")
