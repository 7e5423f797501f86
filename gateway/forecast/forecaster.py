"""Answers forecasts: reads once, walks in slices, remembers what it said of runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from random import Random  # noqa: TID251 - the dice of a question are of its own seed
from statistics import median
from time import perf_counter
from typing import Final

import anyio

from gateway.admission.legacy.decision import Budget
from gateway.admission.windows import Window
from gateway.forecast.asked import MOST_STEPS, ForecastAsked
from gateway.forecast.calibration import Calibration
from gateway.forecast.live import Known, Scene, scene_of
from gateway.forecast.outcome import Outcome
from gateway.forecast.point import Point, Route, simulate
from gateway.forecast.told import pointed, walked
from gateway.forecast.walk import Walk
from gateway.metering.meters.forecast import ForecastMeter
from gateway.planning.plan import Plan
from gateway.planning.planner import Planner
from gateway.policy.keys import Caller
from gateway.policy.wishes import Wishes
from gateway.wire.dialect import Call
from pricing.cost import cost
from pricing.usage import Usage
from techniques.core.errors import RequestRejected, Unavailable
from techniques.core.json import Json, JsonObject
from techniques.core.request import Relay, Request

WALKS: Final = 200
MOST_CALLS: Final = 500
"""Calls of one walk, at most."""
_SLICE_S: Final = 0.0003
_MOST_WAITING: Final = 8
_PICO: Final = 10**12


class Forecaster:
    """One for the process: it walks for one question at a time, in thin slices."""

    def __init__(
        self, planner: Planner, known: Known, calibration: Calibration, meter: ForecastMeter
    ) -> None:
        self._planner = planner
        self._known = known
        self._calibration = calibration
        self._meter = meter
        self._turn = anyio.Lock()
        self._waiting = 0

    async def forecast(self, asked: ForecastAsked, caller: Caller) -> JsonObject:
        """Return what clients are told of the run that is *asked* about.

        Raises:
            RequestRejected: The model or the technique does not exist, or the run is too long.
            Denied: *caller* may not use them.
            Unavailable: The store does not answer, or too many ask.
        """
        plan = self._plan(asked, caller)
        scene = await scene_of(asked, plan, caller, self._known)
        if asked.method == "point":
            self._meter.made(asked.method)
            return _pointed(asked, plan, scene)
        _must_be_short(asked, scene)
        walks = await self._in_turn(asked, scene)
        self._meter.made(asked.method)
        told = walked(asked, plan.technique, scene, walks)
        if asked.run is not None:
            self._calibration.keep((caller.name, asked.run), told)
        return told

    def _plan(self, asked: ForecastAsked, caller: Caller) -> Plan:
        said = {"technique": "technique", "params": "params"}
        wishes = Wishes(technique=asked.technique, params=asked.params, said=said)
        relay = Relay("openai_chat", None, {}, _unread)
        call = Call("openai_chat", asked.model, asked.stream, relay)
        return self._planner.plan(call, caller, wishes)

    async def _in_turn(self, asked: ForecastAsked, scene: Scene) -> list[Outcome]:
        if self._waiting >= _MOST_WAITING:
            raise Unavailable("Too many forecasts are being made; ask again soon.")
        self._waiting += 1
        try:
            async with self._turn:
                return await walks_of(asked, scene)
        finally:
            self._waiting -= 1


def _unread() -> Request:
    raise AssertionError("a forecast reads no request")


async def walks_of(asked: ForecastAsked, scene: Scene) -> list[Outcome]:
    """Walk, and let others have their turn after each slice of time."""
    dice = Random(asked.dice)
    outcomes = []
    until = perf_counter() + _SLICE_S
    for _ in range(WALKS):
        walk = Walk(scene.world, scene.journey, Random(dice.getrandbits(64)))
        for _ in _with_end(walk.go()):
            if perf_counter() >= until:
                await anyio.lowlevel.checkpoint()
                until = perf_counter() + _SLICE_S
        outcomes.append(walk.outcome)
    return outcomes


def _with_end(pauses: Iterator[None]) -> Iterator[None]:
    yield from pauses
    yield


def _must_be_short(asked: ForecastAsked, scene: Scene) -> None:
    a_step = max(sum(map(len, shape)) for shape in scene.world.shapes)
    calls = asked.steps * asked.concurrency * a_step
    if calls > MOST_CALLS:
        raise RequestRejected(
            f"steps: {asked.steps} steps of {asked.concurrency} agents with up to {a_step} calls a "
            f"step are {calls} calls; {MOST_CALLS} can be forecast, and {MOST_STEPS} steps.",
            code="invalid_value",
            param="steps",
        )


def _pointed(asked: ForecastAsked, plan: Plan, scene: Scene) -> JsonObject:
    """Return the forecast with nothing left to chance."""
    lane = scene.world.lanes[0]
    output = round(median(lane.outputs))
    tokens = asked.tokens_per_step or scene.journey.input + output
    route = Route(
        asked.steps,
        tokens,
        _seconds(asked, scene, output),
        asked.wait_threshold_s,
        None if asked.deadline_ms is None else asked.deadline_ms / 1000,
    )
    point = simulate(_budget(asked, scene), route)
    return pointed(asked, plan.technique, point, _usd(asked, scene, point, output))


def _seconds(asked: ForecastAsked, scene: Scene, output: int) -> float:
    lane = scene.world.lanes[0]
    if asked.seconds_per_step is not None:
        return asked.seconds_per_step
    return median(lane.firsts) + median(lane.paces) * output if lane.firsts else 0.0


def _budget(asked: ForecastAsked, scene: Scene) -> Budget:
    """Return the window of tokens that is told, or that of the model of which least is left."""
    told = asked.window
    if told is not None:
        return Budget(
            told.remaining, told.limit, reset_seconds=told.reset_s, refill_regime=told.regime
        )
    world = scene.world
    windows = [
        window
        for row in world.lanes[0].charged
        if row.dimension == "tokens" and isinstance(window := world.windows[row.place], Window)
    ]
    if not windows:
        return Budget(float("inf"))
    window = min(windows, key=lambda it: it.level / it.cap)
    fixed = window.kind == "fixed"
    return Budget(
        max(window.level, 0.0),
        window.cap,
        reset_seconds=(window.ends if fixed else window.period) / 1000,
        refill_regime="fixed" if fixed else "continuous",
    )


def _usd(asked: ForecastAsked, scene: Scene, point: Point, output: int) -> Json:
    if asked.price_per_1k is not None:
        return f"{Decimal(str(asked.price_per_1k)) * round(point.tokens) / 1000:f}"
    price = scene.world.lanes[0].price
    if price is None:
        return None
    entry = max(round(point.tokens) - output * point.steps, 0)
    each = replace(price.within(entry // max(point.steps, 1)), tiers=())  # not by their sum
    total = cost(Usage(entry, output * point.steps), each) + each.per_request * (point.steps - 1)
    return f"{Decimal(max(total, 0)) / _PICO:f}"
