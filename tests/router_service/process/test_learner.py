from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import anyio
import pytest

from router_service.contract import Observation
from router_service.groundwork.database import Database, DatabaseLost, opened
from router_service.process.counts import Counts
from router_service.store.learner import Learner
from router_service.store.observations import ObservationTable
from router_service.store.pages import Cursor, Page
from router_service.store.steps import STEPS
from tests.router_service.store.scene import observation


class Notes:
    """An engine that only notes what it is to learn."""

    def __init__(self) -> None:
        self.learnt: list[tuple[list[str], bool]] = []

    def learn(self, rows: Sequence[Observation], *, afresh: bool = False) -> None:
        self.learnt.append(([row.id for row in rows], afresh))


class Lost(ObservationTable):
    """A table whose database does not answer when *lost*."""

    lost = False

    async def since(self, cursor: Cursor | None = None, limit: int = 2) -> Page:
        if self.lost:
            raise DatabaseLost("gone")
        return await super().since(cursor, 2)


@pytest.fixture
async def table(database_url: str) -> AsyncGenerator[Lost, None]:
    async with opened(database_url, STEPS) as database:
        yield Lost(database)


async def test_what_is_new_is_learnt_once_and_all_anew_after_rows_were_deleted(
    table: Lost,
) -> None:
    engine = Notes()
    learner = Learner(table, engine, Counts())
    await table.observe([observation(name) for name in "abc"])

    assert await learner.refresh() == 3
    assert await learner.refresh() == 0
    await table.observe([observation("d", caller="other")])
    assert await learner.refresh() == 1
    await table.forget("app")
    await learner.refresh()
    await table.forget("other")
    await learner.refresh()

    assert engine.learnt == [
        (["a", "b", "c"], False),
        (["d"], False),
        (["d"], True),
        ([], True),
    ]
    assert learner.rows == 0


async def test_a_database_that_is_lost_is_told_and_what_was_learnt_stays(table: Lost) -> None:
    engine = Notes()
    learner = Learner(table, engine, Counts())
    await table.observe([observation("a")])
    await learner.refresh()
    table.lost = True

    with pytest.raises(DatabaseLost):
        await learner.refresh()
    assert (learner.lost, learner.loaded, learner.rows) == (True, True, 1)

    table.lost = False
    await learner.refresh()
    assert not learner.lost
    assert engine.learnt == [(["a"], False)]


class Slow(Notes):
    """Takes a second for what it learns."""

    def __init__(self, clock: list[float]) -> None:
        super().__init__()
        self._clock = clock

    def learn(self, rows: Sequence[Observation], *, afresh: bool = False) -> None:
        super().learn(rows, afresh=afresh)
        self._clock[0] += 1.0


class Enough(Exception):
    """It has rested as often as a test wants to see."""


async def test_it_rests_longer_than_it_learns(table: Lost, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, rests = [0.0], []

    async def rest(seconds: float) -> None:
        rests.append(seconds)
        if len(rests) == 3:
            raise Enough
        await table.observe([observation(str(len(rests)))] if len(rests) == 1 else [])

    monkeypatch.setattr(f"{Learner.__module__}.perf_counter", lambda: clock[0])
    learner = Learner(table, Slow(clock), Counts(), sleep=rest)
    with pytest.raises(Enough):
        await learner.run(5.0, 90.0)

    assert rests == [5.0, 20.0, 5.0]


class Stumbles(Notes):
    """An engine that has a bug, once."""

    def learn(self, rows: Sequence[Observation], *, afresh: bool = False) -> None:
        if not self.learnt:
            self.learnt.append((["stumbled"], afresh))
            raise ValueError("a bug")
        super().learn(rows, afresh=afresh)


class Expires(ObservationTable):
    """A table of which it is noted that old rows were looked for: all was learnt before."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.expired = anyio.Event()

    async def expire(self, before: float) -> int:
        del before
        self.expired.set()
        return 0


async def test_a_bug_in_learning_ends_nothing_and_it_is_tried_again(tmp_path: Path) -> None:
    engine = Stumbles()
    async with opened(f"sqlite+aiosqlite:///{tmp_path}/lockgate.db", STEPS) as database:
        table = Expires(database)
        await table.observe([observation("a")])
        async with anyio.create_task_group() as group:
            group.start_soon(Learner(table, engine, Counts()).run, 0.1, 90.0)
            with anyio.fail_after(10):
                await table.expired.wait()
            group.cancel_scope.cancel()

    assert engine.learnt == [(["stumbled"], False), (["a"], False)]
