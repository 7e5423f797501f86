from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from gateway.channels.overheard import Heard
from gateway.learning.counts import LearningCounters
from gateway.learning.opening import House, Seen, learning
from gateway.learning.sampler import Sampler
from gateway.learning.studying import studying
from gateway.metering.ledger import RequestFinished
from gateway.pipeline import Asked, Pipeline
from gateway.planning.plan import Plan
from gateway.policy.keys import OPEN, Caller
from gateway.policy.wishes import Wishes
from gateway.routing.observing import Ended, Observer
from gateway.routing.pace import Pace
from gateway.wiring import Parts
from router_service.contract import Observation
from router_service.drifting import watching
from router_service.learning.drift import Drift
from router_service.learning.explorer import Explorer
from router_service.learning.settings import (
    ExplorationSettings,
    LearningSettings,
    SamplingSettings,
)
from tests.gateway.learning.scene import Kept, Scene, asked, gateway, observation

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

SAMPLING = SamplingSettings(share=1.0, judge_rate=1.0, trace_rate=1.0)
SETTINGS = LearningSettings(enabled=True, sampling=SAMPLING)
AUTO = Wishes(technique="auto")


def observer(kept: Kept) -> Observer:
    return Observer(kept, lambda _result, _number: None, Pace())


async def routed(parts: Parts) -> tuple[Asked, Plan]:
    """Return a request that was left to a router, and the plan of what it chose."""
    pipeline = parts.front.pipeline
    ask = Asked(asked(), OPEN, AUTO)
    return ask, await pipeline.routed(ask, pipeline.plan(ask), lambda _fact: None)


@dataclass
class Watched:
    """What is offered to a sampler, and by whom."""

    scene: Scene
    sampler: Sampler
    observer: Observer
    plan: Plan
    ask: Asked

    def end(self, observed: Observation, **changes: Any) -> None:
        fact = _fact()
        ended = replace(Ended(fact, self.plan, call=self.ask.call), **changes)
        for told in self.observer.beside:
            told(ended, observed)


def _fact() -> RequestFinished:
    return RequestFinished(
        *("r1", "r1", None, None, None, "openai_chat", "sim-small", "simulated", "none"),
        streamed=False,
        outcome="success",
        status=200,
        rows=(),
        warnings=(),
        seconds=1.0,
        begun_s=None,
        decode_s=0.0,
        plan_s=0.0,
        cancel_s=None,
    )


@asynccontextmanager
async def watched(
    settings: LearningSettings = SETTINGS, judge: str = "sim-large"
) -> AsyncGenerator[Watched, None]:
    async with gateway(reliability={"judge": judge}, router={"type": "semknn"}) as parts:
        scene, kept = Scene(parts), Kept()
        seen = observer(kept)
        counts = LearningCounters(CollectorRegistry())
        ask, plan = await routed(parts)
        async with studying(settings, seen, (kept, counts), scene.laboratory) as sampler:
            yield Watched(scene, sampler, seen, plan, ask)


async def test_what_ended_well_is_offered_and_earns() -> None:
    async with watched() as work:
        seen = observation().model_copy(update={"cost_usd": 2.0, "cost": 1.0})
        work.end(seen)

        assert work.sampler.waiting == 2  # a judge's sample and a trace
        assert work.sampler.purse.allowance(0.0).total_usd == 2.0
        assert work.observer.listen() is not None


@pytest.mark.parametrize("stated", [None, "sim-large"], ids=["judge", "judge of learning"])
@pytest.mark.parametrize(
    ("models", "offered"), [(None, 2), (("sim-*",), 2), (("sim-small",), 0), ((), 0)]
)
async def test_no_judge_gets_a_prompt_of_a_key_that_may_not_use_it(
    stated: str | None, models: tuple[str, ...] | None, offered: int
) -> None:
    caller = Caller("k", models=None if models is None else frozenset(models))
    async with watched(SETTINGS.model_copy(update={"judge": stated})) as work:
        work.end(observation(), caller=caller)

        assert work.sampler.waiting == offered


@pytest.mark.parametrize("change", ["failed", "unknown call"])
async def test_what_tells_nothing_earns_and_is_not_offered(change: str) -> None:
    async with watched() as work:
        seen = observation().model_copy(update={"cost_usd": 2.0})
        if change == "failed":
            work.end(seen.model_copy(update={"outcome": "upstream_error"}))
        else:
            work.end(seen, call=None)

        assert work.sampler.waiting == 0
        assert work.sampler.purse.allowance(0.0).total_usd == 2.0


async def test_a_technique_that_was_not_listened_to_is_traced_at_most() -> None:
    async with watched() as work:
        work.end(observation("best_of_n/3"))
        assert work.sampler.waiting == 1

        work.end(observation("best_of_n/3"), plan=replace(work.plan, heard=Heard()))
        assert work.sampler.waiting == 3


async def test_a_judge_of_the_same_family_is_told_of_once() -> None:
    real = {"dialect": "openai_chat", "base_url": "https://a.example/v1", "api_key": "sk-1"}
    models = [
        {"name": name, "provider": "real", "model": model}
        for name, model in (("sim-small", "gpt-4o-mini"), ("near", "gpt-4o"), ("far", "claude-3"))
    ]
    logged: dict[str, list[str]] = {}
    for judge in ("near", "far"):
        with capture_logs() as entries:
            async with gateway(
                providers={"real": real},
                models=models,
                reliability={"judge": judge},
                router={"type": "semknn"},
            ) as parts:
                kept, scene = Kept(), Scene(parts)
                counts = LearningCounters(CollectorRegistry())
                ask, plan = await routed(parts)
                seen = observer(kept)
                async with studying(SETTINGS, seen, (kept, counts), scene.laboratory) as sampler:
                    work = Watched(scene, sampler, seen, plan, ask)
                    work.end(observation())
                    work.end(observation())
        logged[judge] = [one["event"] for one in entries if one["log_level"] == "warning"]

    assert logged == {"near": ["learning.judge_related"], "far": []}


async def test_when_it_is_left_nobody_listens_any_more() -> None:
    async with watched() as work:
        pass

    assert work.observer.beside == []
    assert work.observer.listen() is None


async def test_a_shift_is_told_once_for_as_long_as_it_lasts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shifts = [[Drift("m", "judge", 0.9, 0.5, -7.0)], [], [Drift("m", "judge", 0.9, 0.5, -7.0)]]
    looks = iter([shifts[0], shifts[0], shifts[1], shifts[2]])

    def drifts() -> list[Drift]:
        found = next(looks, None)
        if found is None:
            raise LookupError
        return found

    monkeypatch.setattr("router_service.drifting._LOOK_S", 0.0)
    with capture_logs() as entries, pytest.raises(LookupError):
        await watching(drifts)

    assert [one["event"] for one in entries] == ["router.drift"] * 2
    assert (entries[0]["model"], entries[0]["sigmas"]) == ("m", -7.0)


@pytest.mark.parametrize("enabled", [True, False])
async def test_nothing_is_studied_unless_it_is_asked_for(enabled: bool) -> None:  # noqa: FBT001
    kept = Kept()
    seen = observer(kept)
    counts = LearningCounters(CollectorRegistry())
    explorer = Explorer(ExplorationSettings(), lambda: 0.0, lambda: 0.5)

    def current() -> Pipeline:
        raise AssertionError

    settings = LearningSettings(enabled=enabled)
    async with learning(settings, Seen(seen, kept, explorer), House(current, (), counts)):
        assert bool(seen.beside) == enabled
        explorer.told(0.25)
    assert seen.beside == []
