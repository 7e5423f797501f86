"""The first decision of a process is not its first: what takes long then has been done before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

import pytest

from router_service.app import running
from router_service.contract import RouteDecision, RouteQuery
from router_service.engine import Engine
from router_service.process.config import DatabaseSettings, OwnRouterSettings, ProcessSettings
from router_service.process.counts import Counts

TYPES = get_args(OwnRouterSettings.model_fields["type"].annotation)


@contextmanager
def noted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[RouteQuery]]:
    """Give the queries that any engine decides meanwhile."""
    queries: list[RouteQuery] = []
    decide = Engine.decide

    def note(engine: Engine, query: RouteQuery) -> RouteDecision:
        queries.append(query)
        return decide(engine, query)

    with monkeypatch.context() as patched:
        patched.setattr(Engine, "decide", note)
        yield queries


@pytest.mark.parametrize("kind", TYPES)
async def test_any_router_has_decided_once_before_it_is_asked(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ProcessSettings(
        router=OwnRouterSettings.model_validate({"type": kind}),
        database=DatabaseSettings(url=f"sqlite:///{tmp_path}/router.db"),
    )
    counts = Counts()

    with noted(monkeypatch) as queries:
        async with running(settings, counts):
            (first,) = queries

    assert first.vector is not None
    assert not first.explore
    assert [one for metric in counts.decisions.collect() for one in metric.samples] == []
