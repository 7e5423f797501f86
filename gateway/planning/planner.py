"""Makes plans: which model, which technique with which options, within which limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Final

from pydantic import BaseModel

from gateway.metering.caps import Caps
from gateway.planning.kinds import kind_of, must_be_plain, serving
from gateway.planning.options import configured_of, meant, misnamed, options_of, size_option
from gateway.planning.plan import AUTO, BY_SLUG, BY_WISH, NONE, Defaults, Plan
from gateway.planning.prices import must_be_priced
from gateway.policy.access import may_apply, may_use, permits
from gateway.policy.keys import Caller
from gateway.policy.models import Catalogue, Model
from gateway.policy.wishes import NOTHING, Wishes
from gateway.wire.dialect import Call
from pricing.price import PICO
from pricing.record import record
from router_service.arms import PLAIN as PLAIN_ARM
from router_service.arms import Arm
from techniques.core.errors import Denied, RequestRejected, UnknownModel
from techniques.core.events import Warned
from techniques.core.json import Json
from techniques.core.registry import Card, Cards
from techniques.core.relayed import ALONE
from techniques.engines.delegate import PLAIN

_MOST_KNOWN: Final = 1024
_HARDER: Final = "effort_up"
CASCADE: Final = "cascade"
"""The technique that asks a model first, and a stronger one where it must."""


@record(frozen=True, slots=True)
class _Way:
    """What is to be done for *asked*, the model that was asked for, and what decided it.

    ``arm`` is what a router chose, None where none was to.
    """

    asked: Model
    technique: str
    why: str
    arm: Arm | None = None

    @property
    def given(self) -> dict[str, Json]:
        """Options that come of the arm alone."""
        return {"effort": self.arm.effort} if self.is_harder and self.arm else {}

    @property
    def is_harder(self) -> bool:
        """Whether it is a plain call, thought about harder."""
        return self.arm is not None and self.arm.technique == NONE and bool(self.arm.effort)


@record(frozen=True, slots=True)
class Planner:
    """Makes plans from the configuration's models, the techniques' cards and the defaults.

    A plan depends on nothing else, so those of plain calls are kept in ``known``, each with its
    caller, and in ``opened`` what is open to callers by the techniques that they may use.
    """

    catalogue: Catalogue
    cards: Cards
    defaults: Defaults
    known: dict[tuple[str, str, int], tuple[Caller, Plan]] = field(default_factory=dict)
    opened: dict[frozenset[str] | None, Mapping[str, Mapping[str, Json]]] = field(
        default_factory=dict
    )

    def plan(self, call: Call, caller: Caller, wishes: Wishes, arm: Arm | None = None) -> Plan:
        """Return what to do for *call*, with *arm* where a router is to choose.

        Without one that is what happens without a router, and the plan says that one is to choose.

        Raises:
            RequestRejected: A wish names something that does not exist, or options out of range.
            Denied: *caller* may not use the model or the technique.
        """
        if wishes is not NOTHING or arm is not None:
            return self._plan(call, caller, wishes, arm)
        # a key that has changed is another caller
        asked = (call.model, kind_of(call.dialect), id(caller))
        known = self.known.get(asked)
        if known is None or known[0] is not caller:
            if len(self.known) >= _MOST_KNOWN:
                self.known.clear()
            known = self.known[asked] = caller, self._plan(call, caller, wishes)
        return known[1]

    def _plan(self, call: Call, caller: Caller, wishes: Wishes, arm: Arm | None = None) -> Plan:
        way = self._way(call, caller, wishes, arm)
        self._look_up(wishes)
        card = self._card(way, caller, wishes)
        model, *others = serving(call, self._models(way, caller, wishes), wishes)
        plan = Plan(
            models=(model, *others),
            card=card,
            options=self._options(card, way, wishes) if card else None,
            pool=self._pool(way, model, caller, wishes),
            techniques=self._open_to(caller) if card else {},
            judge=self._second(wishes.judge, self.defaults.judge, model),
            critic=self._second(wishes.critic, self.defaults.critic, model),
            caps=self._caps(caller, wishes),
            deadline_s=self._deadline(caller, wishes),
            rescue=self._rescue(wishes),
            strict=bool(wishes.strict),
            why=way.why,
            warnings=(*_ignored(wishes), *_unused(card, wishes)),
            auto=way.arm is not None and arm is None,
            effort=way.arm.effort if way.arm and not way.is_harder else "",
        )
        self._check(plan, caller, wishes)
        return plan

    def _way(self, call: Call, caller: Caller, wishes: Wishes, arm: Arm | None) -> _Way:
        """Return which technique is asked for, and what decided."""
        slug, model = self._model(call.model)
        if call.dialect in ALONE:
            must_be_plain(slug, wishes)
            return _Way(model, NONE, "default")
        asked, why = self.defaults.technique, "default"
        if wishes.technique is not None:
            asked, why = wishes.technique, BY_WISH
        elif slug is not None:
            asked, why = slug, BY_SLUG
        if asked != AUTO:
            return _Way(model, asked, why)
        first = self.defaults.first
        arm = arm or Arm(first if may_apply(caller, first) else NONE)
        way = _Way(model, arm.technique, AUTO, arm)
        return replace(way, technique=_HARDER) if way.is_harder else way

    def _look_up(self, wishes: Wishes) -> None:
        """Refuse a wish for a model that there is not, by the wish's name."""
        single = {"judge": wishes.judge, "critic": wishes.critic}
        named = {"fallbacks": wishes.fallbacks or (), "channels": wishes.channels or ()}
        named |= {wish: (name,) for wish, name in single.items() if name is not None}
        for wish, names in named.items():
            try:
                for name in names:
                    self.catalogue.find(name)
            except UnknownModel as error:
                at = wishes.at(wish)
                raise UnknownModel(f"{at}: {error.message}", param=at) from None

    def _check(self, plan: Plan, caller: Caller, wishes: Wishes) -> None:
        """Refuse what the key may not ask for, and what its budget could not be charged with."""
        named = (*(wishes.fallbacks or ()), wishes.judge, wishes.critic)
        for model in (*plan.pool, *(self.catalogue.find(name) for name in named if name)):
            if not may_use(caller, model):
                raise Denied(f"This key may not use the model {model.target.shown}.", param="model")
        if caller.budgeted or plan.caps.max_cost is not None:
            seconds = (plan.judge, plan.critic) if plan.card else (None, None)
            must_be_priced((*plan.models, *plan.pool), *seconds, at=wishes.at)

    def _models(self, way: _Way, caller: Caller, wishes: Wishes) -> Iterator[Model]:
        """Yield the model that answers, and those to try when it is down.

        Where a router had another answer, the model that was asked for is the next.
        """
        asked, arm = way.asked, way.arm
        fallbacks = self._fallbacks(asked, caller, wishes)
        if arm is None or arm.channel == PLAIN_ARM.channel:
            yield asked
            yield from fallbacks
            return
        other = self.catalogue.find(arm.channel)
        yield other
        for model in (asked, *fallbacks):
            if model.target.shown != other.target.shown:
                yield model

    def _fallbacks(self, model: Model, caller: Caller, wishes: Wishes) -> Iterator[Model]:
        """Yield the models asked for as fallbacks, or those of the configuration it may use."""
        if wishes.fallbacks is not None:
            yield from map(self.catalogue.find, wishes.fallbacks)
            return
        for name in model.fallbacks:
            found = self.catalogue.find(name)
            if may_use(caller, found):
                yield found

    def permitted(self, name: str, caller: Caller) -> Model:
        """Return the model that *name*, slug or plain, stands for, if *caller* may use it.

        Raises:
            UnknownModel: There is none.
            Denied: *caller* may not use it.
        """
        _, model = self._model(name)
        if not may_use(caller, model):
            raise Denied(f"This key may not use the model {model.target.shown}.", param="model")
        return model

    def _model(self, name: str) -> tuple[str | None, Model]:
        """Return the technique that a slug ``TECHNIQUE/MODEL`` asks for, and the model."""
        first, slash, rest = name.partition("/")
        if slash and (first in self.cards or first in (NONE, AUTO)):
            return first, self.catalogue.find(rest)
        try:
            return None, self.catalogue.find(name)
        except UnknownModel as unknown:
            if not (hint := misnamed(name, (*self.cards, NONE, AUTO), self.catalogue.label(rest))):
                raise
            raise UnknownModel(unknown.message + hint, param="model", name=unknown.name) from None

    def _card(self, way: _Way, caller: Caller, wishes: Wishes) -> Card | None:
        name = way.technique
        if name == NONE:
            return None
        card = self.cards.get(name)
        at = "model" if way.why == BY_SLUG else wishes.at("technique")
        if card is None:
            raise RequestRejected(
                f"There is no technique {name[:64]!r}; there are none, auto, "
                f"{', '.join(self.cards)}.{meant(name, self.cards)}",
                code="unknown_technique",
                param=at,
            )
        if not permits(caller, card, name):
            raise Denied(f"This key may not use the technique {name}.", param=at)
        return card

    def _options(self, card: Card, way: _Way, wishes: Wishes) -> BaseModel:
        given = configured_of(card, self.defaults.options) | way.given
        if way.arm is not None and way.arm.size is not None:
            given[size_option(card)] = way.arm.size
        given |= wishes.params or {}
        return options_of(card, given, self.cards, wishes.at("params"))

    def _open_to(self, caller: Caller) -> Mapping[str, Mapping[str, Json]]:
        """Return the techniques that *caller* may use, and the plain one, with their options."""
        found = self.opened.get(caller.techniques)
        if found is None:
            found = self.opened[caller.techniques] = {
                card.name: configured_of(card, self.defaults.options)
                for card in self.cards.values()
                if card.name == PLAIN or permits(caller, card, card.name)
            }
        return found

    def _pool(self, way: _Way, model: Model, caller: Caller, wishes: Wishes) -> tuple[Model, ...]:
        named: Iterable[str] = wishes.channels or ()
        if way.arm is not None and way.technique == CASCADE and not named and way.asked.stronger:
            named = (way.asked.stronger,)
        others = map(self.catalogue.find, named) if named else self._others(model, caller)
        return (model, *(other for other in others if other.target.shown != model.target.shown))

    def _others(self, model: Model, caller: Caller) -> Iterator[Model]:
        """Yield the configuration's pool, as far as *caller* may use it beside *model*."""
        for found in map(self.catalogue.find, self.defaults.channels):
            if may_use(caller, found) and found.simulated == model.simulated:
                yield found

    def _second(self, asked: str | None, default: str | None, model: Model) -> Model | None:
        if asked is not None:
            return self.catalogue.find(asked)
        if default is None:
            return None
        found = self.catalogue.find(default)
        return None if found.simulated and not model.simulated else found

    def _caps(self, caller: Caller, wishes: Wishes) -> Caps:
        cost = None if wishes.max_cost_usd is None else int(wishes.max_cost_usd * PICO)
        asked = Caps(wishes.max_calls, cost)
        return asked.tighter(caller.caps).tighter(self.defaults.caps)

    def _deadline(self, caller: Caller, wishes: Wishes) -> float | None:
        given = (wishes.deadline_ms, caller.deadline_ms, self.defaults.deadline_ms)
        return min((ms / 1000 for ms in given if ms is not None), default=None)

    def _rescue(self, wishes: Wishes) -> bool:
        if wishes.on_error is None:
            return self.defaults.rescue
        return wishes.on_error == "fallback_baseline"


def _ignored(wishes: Wishes) -> Iterable[Warned]:
    if wishes.strict and wishes.ignored:
        at = wishes.at(wishes.ignored[0])
        raise RequestRejected(f"{at} has no effect in this version.", param=at)
    return (*wishes.warnings, *(Warned("not_in_effect", name) for name in wishes.ignored))


def _unused(card: Card | None, wishes: Wishes) -> Iterator[Warned]:
    if wishes.params and card is None:
        yield Warned("params_ignored", "no technique was asked for")
