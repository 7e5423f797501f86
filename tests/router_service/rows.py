"""Observations of a made-up traffic, and queries about it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

from router_service.contract import Features, ModelSpec, Observation, Offer, RouteQuery, Vector

ENCODER = "toy"


def vector(*values: float, encoder: str = ENCODER) -> Vector:
    """Return the direction of *values*."""
    length = math.hypot(*values) or 1.0
    return Vector(encoder=encoder, values=tuple(value / length for value in values))


def row(name: str, arm: str, gain: float | None, **fields: object) -> Observation:
    """Return an observation of *arm* whose plain call is worth .5."""
    stated: dict[str, object] = {
        "id": name,
        "request_id": name,
        "at": 1_000_000.0,
        "model": "m",
        "arm": arm,
        "plain_quality": 0.5,
        "quality": None if gain is None else 0.5 + gain,
        "cost": 3.0,
    }
    return Observation.model_validate(stated | fields)


def query(*arms: str, **fields: object) -> RouteQuery:
    """Return a query that offers *arms*, at three plain calls each beside ``none``."""
    offers = [Offer(arm=arm, cost=1.0 if arm == "none" else 3.0) for arm in arms]
    return RouteQuery.model_validate({"model": "m", "offers": offers} | fields)


def near(random: Random, *middle: float, spread: float = 0.05) -> Vector:
    """Return a direction near *middle*."""
    return vector(*(value + random.gauss(0, spread) for value in middle))


def two_towns(count: int, seed: int = 7) -> list[Observation]:
    """Return rows of an arm that gains .3 in the one place and loses .3 in the other."""
    random = Random(seed)
    rows = []
    for place in range(count):
        east = place % 2 == 0
        at = near(random, *((1.0, 0.0, 0.0) if east else (0.0, 1.0, 0.0)))
        gain = (0.3 if east else -0.3) + random.gauss(0, 0.05)
        rows.append(row(f"r{place}", "best_of_n/3", gain, vector=at))
    return rows


def spec(*families: str) -> Sequence[ModelSpec]:
    """Return a pool of one model of each of *families*."""
    return [ModelSpec(family=family, params_b=8) for family in families]


def features(**fields: object) -> Features:
    """Return features with these *fields*."""
    return Features.model_validate(fields)
