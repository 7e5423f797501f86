"""Opens what studies the traffic, where anything is to be learnt: else nothing of it is loaded."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from gateway.learning.counts import LearningCounters
from gateway.metering.ledger import Meter
from gateway.pipeline import Pipeline
from gateway.routing.observing import Observer
from router_service.contract import Observations
from router_service.drifting import watching
from router_service.learning.drift import Drift
from router_service.learning.explorer import Explorer
from router_service.learning.settings import LearningSettings
from techniques.core.groups import task_group


@dataclass(frozen=True, slots=True)
class Seen:
    """Who sees what came of a router's choices, and who keeps that, None: nobody.

    ``drifts`` tells where plain answers are not what they were, as far as is known here.
    """

    observer: Observer
    observations: Observations | None
    explorer: Explorer | None = None
    drifts: Callable[[], Sequence[Drift]] = tuple


@dataclass(frozen=True, slots=True)
class House:
    """What carries calls out at the moment, and who counts what they cost."""

    current: Callable[[], Pipeline]
    meters: tuple[Meter, ...]
    counts: LearningCounters


@asynccontextmanager
async def learning(
    settings: LearningSettings, seen: Seen, house: House
) -> AsyncGenerator[None, None]:
    """Study some of what is *seen*, if that is wanted; leaving lets go what is not studied yet."""
    if seen.explorer is not None:
        seen.explorer.told = house.counts.explored
    if not settings.enabled or seen.observations is None:
        yield
        return
    from gateway.learning.running import Laboratory  # numpy takes long to import
    from gateway.learning.studying import studying

    laboratory = Laboratory(house.current, house.meters)
    tells = seen.observations, house.counts
    async with studying(settings, seen.observer, tells, laboratory), task_group() as group:
        group.start_soon(watching, seen.drifts)
        yield
        group.cancel_scope.cancel()
