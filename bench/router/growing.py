"""How good the router is after few observations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from bench.router.curves import Predicted, recovery
from bench.router.measuring import Interval, Measured, is_pair
from bench.router.report import STRONG
from bench.router.rivals import RIVALS, Rival, Task, category_prior, length_only
from bench.router.sets import Numbers, Places

SIZES: Final = (60, 200, 600, 2000)
_ASKED: Final = 400
_FEWEST: Final = 150
_RIVALS: Final[Mapping[str, Rival]] = {
    "semknn": RIVALS["semknn"],
    "length only": length_only,
    "category prior": category_prior,
}


def table(done: Mapping[str, Measured], seed: int, times: int) -> str:
    """Return what is recovered of the gap between two models after so many observations.

    It is the mean of so many *times*.
    """
    head = f"| set | router | {' | '.join(f'{size:,}' for size in SIZES)} |"
    rows = [
        f"| {name} | {rival} | {_cells(task, each, (seed, times))} |"
        for name, measured in done.items()
        if not name.endswith(STRONG) and is_pair((task := measured.task).routed)
        for rival, each in _RIVALS.items()
    ]
    return "\n".join(
        (
            f"### After few observations\n\nAPGR, the mean of {times} drawings of so many prompts "
            f"to learn and of at most {_ASKED} others to choose for, and how far such drawings "
            "differ (one standard deviation).\n",
            head,
            f"|---|---{'|---' * len(SIZES)}|",
            *rows,
        )
    )


def _cells(task: Task, rival: Rival, drawn: tuple[int, int]) -> str:
    return " | ".join(_cell(task, rival, size, drawn) for size in SIZES)


def _cell(task: Task, rival: Rival, size: int, drawn: tuple[int, int]) -> str:
    if len(task.routed) < size + _FEWEST:
        return "-"
    found = grown(task, rival, size, drawn)
    return f"{found.value:.3f} ± {found.high - found.value:.3f}"


def grown(task: Task, rival: Rival, size: int, drawn: tuple[int, int]) -> Interval:
    """Return the mean APGR of *rival* after *size* prompts, and a standard deviation about it.

    *drawn* is the seed of the drawings, and how many they are.
    """
    seed, times = drawn
    found = [_once(task, rival, size, np.random.default_rng([seed, each])) for each in range(times)]
    value, spread = float(np.nanmean(found)), float(np.nanstd(found))
    return Interval(value, value - spread, value + spread)


def _once(task: Task, rival: Rival, size: int, dice: np.random.Generator) -> float:
    order: Places = dice.permutation(len(task.routed))
    known, asked = order[:size], order[size : size + _ASKED]
    return _apgr(task, rival(task, known, asked), asked)


def _apgr(task: Task, found: Predicted, asked: Places) -> float:
    strong = 1 - task.plain
    quality: Numbers = task.routed.quality[asked][:, [task.plain, strong]]
    once = np.ones((1, len(asked)))
    return float(recovery(found.points[:, strong], quality, once).apgr[0])
