"""What will be done for a call: decided before anything is sent, from values alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from pydantic import BaseModel

from gateway.channels.overheard import Heard
from gateway.metering.caps import Caps
from gateway.metering.routed import Routed
from gateway.policy.models import Model
from pricing.record import record
from router_service.contract import RouteQuery
from techniques.core.events import Warned
from techniques.core.json import Json
from techniques.core.registry import Card
from techniques.core.request import Request

NONE = "none"
AUTO = "auto"
BY_SLUG = "model slug"
"""Why a technique is carried out that the model's name asked for."""
BY_WISH = "asked for"
"""... that the call itself asked for."""


@record(frozen=True, slots=True)
class Plan:
    """What will be done for a call, and why.

    ``card`` and ``options`` are None when no technique runs. ``models`` are the one that answers
    and its fallbacks, ``pool`` those a technique may draw from (the first is ``models[0]``).
    ``techniques`` are those that it may hand on to, with their configured options. ``deadline_s``
    is from the moment the request came in. ``why`` names what decided. ``request`` is the call's
    request in full, where planning had to read it; ``choices`` is how many answers a technique is
    to give to it, of which the request itself then says nothing.
    ``auto``: a router is yet to choose; as it stands it is what happens without one. ``effort`` is
    how hard the request's answers are to be thought about, "" for what it says itself. ``routed``
    is what a router has chosen, and ``query`` what it was asked. ``heard`` is where a technique's
    answer is written down to be judged, None where nobody listens.
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
    auto: bool = False
    effort: str = ""
    routed: Routed | None = None
    query: RouteQuery | None = None
    heard: Heard | None = None

    @property
    def technique(self) -> str:
        """The technique's name, ``none`` without one."""
        return NONE if self.card is None else self.card.name

    @property
    def model(self) -> Model:
        """The model that answers."""
        return self.models[0]


@record(frozen=True, slots=True)
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

    @property
    def first(self) -> str:
        """The technique for calls that wish for none, where no router chooses."""
        return NONE if self.technique == AUTO else self.technique
