"""Models, techniques and callers to plan with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from gateway.planning.plan import Defaults, Plan
from gateway.planning.planner import Planner
from gateway.policy.keys import OPEN, Caller
from gateway.policy.models import Catalogue, Model
from gateway.policy.wishes import NOTHING, Wishes
from gateway.upstream.http import HttpChannel, Patience
from gateway.upstream.provider import Provider, Target
from gateway.upstream.simulated.transport import SimulatedTransport
from gateway.wire.dialect import Call
from pricing.price import Price
from techniques import catalog
from techniques.core.json import Json
from techniques.core.registry import load
from techniques.core.request import Relay, Request

PRICE = Price(1, 1)
CARDS = load(catalog)
RELAY = Relay("openai_chat", b"", {}, lambda: Request("m"))


def model(
    name: str,
    *fallbacks: str,
    price: Price | None = PRICE,
    served_as: str | None = None,
    simulated: bool = False,
) -> Model:
    target = Target(name, "openai", served_as or name)
    channel = HttpChannel(SimulatedTransport(), cast("Provider", None), target, Patience(1.0, 1.0))
    return Model(channel, price=price, fallbacks=fallbacks, simulated=simulated)


MODELS = (
    model("fast", "smart", "cheap", served_as="gpt-4o-mini"),
    model("smart"),
    model("cheap"),
    model("free", price=None),
    model("claude-*"),
    model("claude-opus-*", price=None),
    model("sim", simulated=True),
    model("sim-judge", simulated=True),
    model("org/llama"),
)


def planner(defaults: Defaults | None = None, models: Sequence[Model] = MODELS) -> Planner:
    return Planner(Catalogue(models), CARDS, defaults or Defaults())


def call(name: str = "fast") -> Call:
    return Call("openai_chat", name, streamed=False, relay=RELAY)


def plan(
    name: str = "fast",
    caller: Caller = OPEN,
    defaults: Defaults | None = None,
    **wishes: Json,
) -> Plan:
    wished = replace(Wishes(), **wishes) if wishes else NOTHING
    return planner(defaults).plan(call(name), caller, wished)


def names(models: tuple[Model, ...]) -> list[str]:
    return [found.target.shown for found in models]
