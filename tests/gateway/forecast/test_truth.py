"""Forecasts beside what then happens at the ledger itself: A-73."""

from __future__ import annotations

from gateway.forecast.told import quantile
from tests.gateway.forecast.agents import HOUR_MS, Case, World

CASES, TRUTHS = 10, 40


async def truths(world: World) -> list[tuple[float, int]]:
    """Return what many runs took, in seconds and tokens, each beginning with full windows."""
    found = []
    for _ in range(TRUTHS):
        found.append(await world.run())
        world.now += HOUR_MS
    return found


async def test_the_middle_of_a_forecast_lies_between_the_p50_and_the_p90_of_what_happens() -> None:
    within = {"wall_s": 0, "tokens": 0}
    below = {"p50": 0, "p90": 0}
    for seed in range(CASES):
        world = World(Case.drawn(seed), seed)
        await world.learn()
        told = await world.forecast()
        walls, tokens = zip(*await truths(world), strict=True)
        for measure, values in (("wall_s", walls), ("tokens", tokens)):
            middle = (told["p50"][measure] + told["p90"][measure]) / 2
            within[measure] += quantile(values, 0.5) <= middle <= quantile(values, 0.9)
            for name in below:
                below[name] += sum(value <= told[name][measure] for value in values)

    compared = 2 * CASES * TRUTHS
    assert min(within.values()) >= 0.8 * CASES
    assert 0.4 <= below["p50"] / compared <= 0.6
    assert 0.85 <= below["p90"] / compared <= 0.95
