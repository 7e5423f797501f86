"""What will be done for a call: decided before anything is sent, from values alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import BaseModel

from gateway.metering.caps import Caps
from gateway.planning.options import can_do_with, configured_of, meant, options_of
from gateway.planning.prices import must_be_priced
from gateway.policy.access import may_apply, may_use, permits
from gateway.policy.keys import Caller
from gateway.policy.models import Catalogue, Model
from gateway.policy.wishes import NOTHING, Wishes
from gateway.wire.dialect import Call
from pricing.price import PICO
from router_service.contract import Offer, RouteDecision, RouteQuery
from techniques.core.errors import Denied, RequestRejected, UnknownModel
from techniques.core.events import Warned
from techniques.core.json import Json
from techniques.core.registry import Card, Cards
from techniques.core.request import Request
from techniques.engines.delegate import PLAIN


class Decides(Protocol):
    """A router that is asked and answers at once."""

    def decide(self, query: RouteQuery) -> RouteDecision:
        """Choose one of what is on offer."""
        ...


NONE = "none"
AUTO = "auto"
BY_SLUG = "model slug"
"""Why a technique is carried out that the model's name asked for."""
BY_WISH = "asked for"
"""... that the call itself asked for."""
_MOST_KNOWN = 1024


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be done for a call, and why.

    ``card`` and ``options`` are None when no technique runs. ``models`` are the one that answers
    and its fallbacks, ``pool`` those a technique may draw from (the first is ``models[0]``).
    ``techniques`` are those that it may hand on to, with their configured options. ``deadline_s``
    is from the moment the request came in. ``why`` names what decided. ``request`` is the call's
    request in full, where planning had to read it; ``choices`` is how many answers a technique is
    to give to it, of which the request itself then says nothing.
    """

    models: tuple[Model, ...]
    card: Card | None = None
    options: BaseModel | None = None
    pool: tuple[Model, ...] = ()
    techniques: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    judge: Model | None = None
    critic: Model | None = None
    caps: Caps = field(default_factory=Caps)
    deadline_s: float | None = None
    rescue: bool = True
    strict: bool = False
    why: str = "default"
    warnings: tuple[Warned, ...] = ()
    request: Request | None = None
    choices: int = 1

    @property
    def technique(self) -> str:
        """The technique's name, ``none`` without one."""
        return NONE if self.card is None else self.card.name

    @property
    def model(self) -> Model:
        """The model that answers."""
        return self.models[0]


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the configuration says for calls that wish for nothing."""

    technique: str = NONE
    channels: tuple[str, ...] = ()
    judge: str | None = None
    critic: str | None = None
    options: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    caps: Caps = field(default_factory=Caps)
    deadline_ms: int | None = None
    rescue: bool = True


@dataclass(frozen=True, slots=True)
class Planner:
    """Makes plans from the configuration's models, the techniques' cards and the defaults.

    A plan depends on nothing else, so those of plain calls are kept in ``known``, each with its
    caller, and in ``opened`` what is open to callers by the techniques that they may use.
    """

    catalogue: Catalogue
    cards: Cards
    defaults: Defaults
    router: Decides
    known: dict[tuple[str, int], tuple[Caller, Plan]] = field(default_factory=dict)
    opened: dict[frozenset[str] | None, Mapping[str, Mapping[str, Json]]] = field(
        default_factory=dict
    )

    def plan(self, call: Call, caller: Caller, wishes: Wishes) -> Plan:
        """Return what to do for *call*.

        Raises:
            RequestRejected: A wish names something that does not exist, or options out of range.
            Denied: *caller* may not use the model or the technique.
        """
        if wishes is not NOTHING:
            return self._plan(call, caller, wishes)
        asked = (call.model, id(caller))  # a key that has changed is another caller
        known = self.known.get(asked)
        if known is None or known[0] is not caller:
            if len(self.known) >= _MOST_KNOWN:
                self.known.clear()
            known = self.known[asked] = caller, self._plan(call, caller, wishes)
        return known[1]

    def _plan(self, call: Call, caller: Caller, wishes: Wishes) -> Plan:
        slug, model = self._model(call.model)
        self._look_up(wishes)
        asked, why = self._asked(slug, model, caller, wishes)
        at = "model" if why == BY_SLUG else wishes.at("technique")
        card = self._card(asked, caller, at)
        plan = Plan(
            models=(model, *self._fallbacks(model, caller, wishes)),
            card=card,
            options=self._options(card, wishes) if card else None,
            pool=self._pool(model, caller, wishes),
            techniques=self._open_to(caller) if card else {},
            judge=self._second(wishes.judge, self.defaults.judge, model),
            critic=self._second(wishes.critic, self.defaults.critic, model),
            caps=self._caps(caller, wishes),
            deadline_s=self._deadline(caller, wishes),
            rescue=self._rescue(wishes),
            strict=bool(wishes.strict),
            why=why,
            warnings=(*_ignored(wishes), *_unused(card, wishes)),
        )
        self._check(plan, caller, wishes)
        return plan

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
        named = (*(wishes.fallbacks or ()), *(wishes.channels or ()), wishes.judge, wishes.critic)
        for model in (plan.model, *(self.catalogue.find(name) for name in named if name)):
            if not may_use(caller, model):
                raise Denied(f"This key may not use the model {model.name}.", param="model")
        if caller.budgeted or plan.caps.max_cost is not None:
            seconds = (plan.judge, plan.critic) if plan.card else (None, None)
            must_be_priced((*plan.models, *plan.pool), *seconds, at=wishes.at)

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
            raise Denied(f"This key may not use the model {model.name}.", param="model")
        return model

    def _model(self, name: str) -> tuple[str | None, Model]:
        """Return the technique that a slug ``TECHNIQUE/MODEL`` asks for, and the model."""
        first, slash, rest = name.partition("/")
        if slash and (first in self.cards or first in (NONE, AUTO)):
            return first, self.catalogue.find(rest)
        return None, self.catalogue.find(name)

    def _asked(
        self, slug: str | None, model: Model, caller: Caller, wishes: Wishes
    ) -> tuple[str, str]:
        """Return the technique's name, and what decided; a router's choice is among the allowed."""
        asked, why = self.defaults.technique, "default"
        if wishes.technique is not None:
            asked, why = wishes.technique, BY_WISH
        elif slug is not None:
            asked, why = slug, BY_SLUG
        if asked != AUTO:
            return asked, why
        first = NONE if self.defaults.technique == AUTO else self.defaults.technique
        offered = dict.fromkeys((first, NONE, *self._ready(wishes)))
        allowed = tuple(name for name in offered if may_apply(caller, name))
        offers = tuple(Offer(arm=name) for name in allowed)
        decision = self.router.decide(RouteQuery(model=model.name, offers=offers))
        return decision.arm, f"auto, {decision.why}"

    def _card(self, name: str, caller: Caller, at: str) -> Card | None:
        if name == NONE:
            return None
        card = self.cards.get(name)
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

    def _options(self, card: Card, wishes: Wishes) -> BaseModel:
        return options_of(card, self._given(card, wishes), self.cards, wishes.at("params"))

    def _ready(self, wishes: Wishes) -> Iterator[str]:
        for name, card in self.cards.items():
            if name == card.name and can_do_with(card, self._given(card, wishes)):
                yield name

    def _given(self, card: Card, wishes: Wishes) -> dict[str, Json]:
        return configured_of(card, self.defaults.options) | dict(wishes.params or {})

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

    def _pool(self, model: Model, caller: Caller, wishes: Wishes) -> tuple[Model, ...]:
        named = map(self.catalogue.find, wishes.channels or ())
        others = named if wishes.channels else self._others(model, caller)
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
    return (Warned("not_in_effect", name) for name in wishes.ignored)


def _unused(card: Card | None, wishes: Wishes) -> Iterator[Warned]:
    if wishes.params and card is None:
        yield Warned("params_ignored", "no technique was asked for")
