"""Routers, encoders and requests to choose for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import anyio

from gateway.metering.facts import RouterAsked
from gateway.metering.ledger import Fact
from gateway.planning.asked import Asked
from gateway.planning.plan import Defaults, Plan
from gateway.planning.planner import Planner
from gateway.policy.keys import OPEN, Caller
from gateway.policy.models import Model
from gateway.policy.wishes import Wishes
from gateway.routing.asking import Asker
from gateway.routing.menu import Menus
from gateway.routing.routing import Routing
from gateway.upstream.thinking import Thinks
from gateway.wire.dialect import Call
from pricing.price import Price
from router_service.arms import Arm
from router_service.contract import Encoder, RouteDecision, RouteQuery, Router, Vector
from techniques.core.capabilities import Capabilities
from techniques.core.json import NOTHING, Json
from techniques.core.request import Relay, Request, said
from tests.gateway.planning.scene import model, planner

WITHIN_S, ENCODE_WITHIN_S = 0.02, 0.5
LAST = Vector(encoder="test", values=(1.0, 0.0))


@dataclass
class Scripted:
    """A router that takes the arm it is told to, after a while, and remembers what it was asked."""

    takes: str | Exception = "none"
    after_s: float = 0.0
    said: Mapping[str, object] = field(default_factory=dict)
    queries: list[RouteQuery] = field(default_factory=list)

    async def route(self, query: RouteQuery) -> RouteDecision:
        self.queries.append(query)
        await anyio.sleep(self.after_s)
        if isinstance(self.takes, Exception):
            raise self.takes
        told = {
            "why": f"semknn: {self.takes} +3.2 points for 4.1x",
            "router": "semknn",
            **self.said,
        }
        return RouteDecision.model_validate({"arm": self.takes, **told})


@dataclass
class Encoding:
    """An encoder with one vector for all."""

    after_s: float = 0.0
    fails: Exception | None = None
    name: str = "test"

    async def encode(self, text: str) -> Vector | None:
        await anyio.sleep(self.after_s)
        if self.fails is not None:
            raise self.fails
        return LAST if text else None


def strong(**changes: object) -> Model:
    """Return a model that costs ten times as much as others."""
    return replace(model("strong", price=Price(10, 10)), **changes)  # type: ignore[arg-type]


def able(one: Model, can: Mapping[str, bool | int] = NOTHING, *, thinks: bool = False) -> Model:
    """Return *one* as a model that can do just that."""
    known = replace(
        one.target,
        capabilities=replace(Capabilities(), **can),  # type: ignore[arg-type]
        thinks=Thinks() if thinks else one.target.thinks,
    )
    return replace(one, channel=replace(one.channel, target=known))


FAST = replace(model("fast"), stronger="strong")
MODELS = (FAST, strong(), model("other"), model("judge"), model("free", price=None))
DEFAULTS = Defaults(technique="auto", judge="judge", channels=("other",))


def asked(
    request: Request | None = None, *, caller: Caller = OPEN, name: str = "fast", **wishes: Json
) -> Asked:
    full = request or question("What is 17 * 23?")
    relay = Relay("openai_chat", b"", {}, lambda: full)
    wished = replace(Wishes(said={}), **wishes)
    return Asked(Call("openai_chat", name, streamed=False, relay=relay), caller, wished)


def question(text: str) -> Request:
    return Request("fast", messages=(said("user", text),))


@dataclass
class Scene:
    """A router at work."""

    router: Router = field(default_factory=Scripted)
    encoder: Encoder | None = field(default_factory=Encoding)
    models: tuple[Model, ...] = MODELS
    defaults: Defaults = DEFAULTS
    arms: tuple[Arm, ...] = ()
    facts: list[Fact] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.planner: Planner = planner(self.defaults, self.models)
        asker = Asker(self.router, self.encoder, WITHIN_S, ENCODE_WITHIN_S)
        self.routing = Routing(Menus(self.planner, self.arms), asker, "semknn")

    async def routed(self, wanted: Asked | None = None) -> Plan:
        wanted = wanted or asked()
        plan = self.planner.plan(wanted.call, wanted.caller, wanted.wishes)
        assert plan.auto
        return await self.routing.routed(wanted, plan, self.facts.append)

    async def masked(self, wanted: Asked | None = None) -> Mapping[str, str]:
        """Return why arms must not be chosen for what is *wanted*."""
        await self.routed(wanted)
        return {one.arm: one.masked for one in self.query.offers if one.masked}

    @property
    def query(self) -> RouteQuery:
        assert isinstance(self.router, Scripted)
        return self.router.queries[-1]

    @property
    def told(self) -> RouterAsked:
        last = self.facts[-1]
        assert isinstance(last, RouterAsked)
        return last


Change = Callable[[Request], Request]
