"""What a forecast costs, and for how long it holds others up: ``python -m bench.forecast``.

A forecast of each size is made in a process that does nothing else but look at the clock whenever
it has its turn. The longest time between two looks is the longest that anybody had to wait; the
clock is the process's own, so that what else the machine does is not in it.
"""

from __future__ import annotations

import sys
from random import Random  # noqa: TID251 - always with a seed
from time import process_time
from typing import Final

import anyio

from gateway.admission.need.traits import Traits
from gateway.admission.windows import Window
from gateway.forecast.asked import ForecastAsked
from gateway.forecast.forecaster import WALKS, walks_of
from gateway.forecast.live import Scene
from gateway.forecast.world import Charged, Journey, Lane, Part, World
from pricing.price import Price
from techniques.core.groups import task_group

_SIZES: Final = (5, 30, 100, 500)
_SEED: Final = 1


def _scene(steps: int) -> Scene:
    dice = Random(_SEED)
    lane = Lane(
        name="model",
        group=0,
        charged=(Charged(0, "tokens"), Charged(1, "requests")),
        outputs=tuple(dice.lognormvariate(5, 0.5) for _ in range(200)),
        firsts=tuple(dice.uniform(0.2, 0.9) for _ in range(200)),
        paces=tuple(dice.uniform(0.01, 0.02) for _ in range(200)),
        bound=500,
        spread=1.1,
        traits=Traits(),
        rules=("reserve_max", "unknown"),
        price=Price(1_000_000, 2_000_000),
        context=None,
    )
    windows = (
        Window("model:tokens:60", "bucket", 200_000, 200_000, 0, 60_000),
        Window("model:requests:60", "bucket", 60, 60, 0, 60_000),
    )
    world = World(windows, ("tokens", "requests"), (lane,), (((Part(0),),),))
    return Scene(world, Journey(steps, 500, 50), "calls", 200)


async def _measured(steps: int) -> tuple[float, float]:
    """Return the seconds that a forecast takes, and the longest wait of others."""
    longest, last = 0.0, process_time()
    asked = ForecastAsked(model="model", steps=steps, tokens_per_step=600)

    async def look() -> None:
        nonlocal longest, last
        while True:
            now = process_time()
            longest, last = max(longest, now - last), now
            await anyio.lowlevel.checkpoint()

    began = process_time()
    async with task_group() as group:
        group.start_soon(look)
        await walks_of(asked, _scene(steps))
        group.cancel_scope.cancel()
    return process_time() - began, longest


def main() -> int:
    """Print a line for each size."""
    sys.stdout.write("steps   CPU ms  us a call  longest wait of others, ms\n")
    for steps in _SIZES:
        busy, longest = anyio.run(_measured, steps)
        each = 1e6 * busy / (WALKS * steps)
        line = f"{steps:5} {1e3 * busy:8.0f} {each:10.1f} {1e3 * longest:27.2f}\n"
        sys.stdout.write(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
