"""Small sets of made-up prompts: half are about the one thing, half about the other."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import orjson

from bench.router.rivals import Task
from bench.router.sets import RoutedSet
from router_service.contract import Vector
from router_service.features import prompt_of
from techniques.core.request import Request, said


def kept(path: Path, *rows: object) -> None:
    path.write_bytes(gzip.compress(b"\n".join(map(orjson.dumps, rows))))


def towns(count: int = 60, models: tuple[str, ...] = ("weak", "strong")) -> Task:
    """Return prompts of which every second is answered by the strong model alone."""
    dice = np.random.default_rng(3)
    hard = np.arange(count) % 2 == 1
    quality = np.ones((count, len(models)))
    quality[hard, 0] = 0.0
    where = np.where(hard[:, None], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    spread = where + dice.normal(0, 0.05, (count, 3))
    unit = spread / np.linalg.norm(spread, axis=1, keepdims=True)
    asks = [f"{'Prove' if each else 'Tell me'} number {at}." for at, each in enumerate(hard)]
    prompts = tuple(prompt_of(Request("m", (said("user", ask),))) for ask in asks)
    cost = np.tile([1.0, *[10.0] * (len(models) - 1)], (count, 1))
    routed = RoutedSet("towns", "made up", models, prompts, quality, cost)
    return Task(routed, [Vector(encoder="toy", values=tuple(each)) for each in unit.tolist()])
