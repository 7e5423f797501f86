"""Observations to write down, and a table to write them into."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from router_service.contract import Features, ModelSpec, Observation, Vector
from router_service.groundwork.database import opened
from router_service.store.observations import ObservationTable
from router_service.store.pages import Cursor
from router_service.store.steps import STEPS

AT = 1_780_000_000.25


def observation(name: str = "o1", **fields: Any) -> Observation:
    """Return what was observed of the request ``r-NAME``."""
    told: dict[str, Any] = {
        "request_id": f"r-{name}",
        "at": AT,
        "model": "small",
        "arm": "none",
        "caller": "app",
    }
    return Observation(id=name, **{**told, **fields})


FULL = observation(
    "full",
    arm="self_consistency/5",
    features=Features(
        kind="number", label="math", tools=True, tokens=7, system="f" * 16, content={"words": 0.25}
    ),
    vector=Vector(encoder="hashed/4", values=(0.5, -0.5, 0.5, 0.5)),
    pool=(ModelSpec(family="a", params_b=7.0), ModelSpec(family="b", effort="low")),
    params_hash="p",
    propensity=0.25,
    explored=True,
    counterfactual=True,
    quality=0.75,
    plain_quality=0.5,
    source="judge",
    reliability=-0.3,
    repeats=2,
    spread=0.1,
    cost_usd=0.002,
    cost=3.5,
    calls=5,
    latency_ms=12.5,
    first_token_ms=3.0,
    outcome="error",
)
"""No field of it is what it is by default."""


@asynccontextmanager
async def tabled(url: str, keys: Sequence[bytes] = ()) -> AsyncGenerator[ObservationTable, None]:
    """Open the table in the database at *url*."""
    async with opened(url, STEPS) as database:
        yield ObservationTable(database, keys)


async def read(table: ObservationTable, cursor: Cursor | None = None) -> list[Observation]:
    """Return all that there is after *cursor*, in order."""
    return list((await table.since(cursor)).rows)
