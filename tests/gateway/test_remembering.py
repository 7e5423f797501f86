"""Responses that nobody comes back to are forgotten, a batch at a time."""

from __future__ import annotations

import anyio

from gateway.config.responses import ResponsesConfig
from gateway.remembering import Remembered
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.responses.shelf import Shelf
from gateway.stores.responses.table import ResponseTable
from tests.gateway.stores.responses.scene import OPEN

DAY_S = 86_400


class Table(ResponseTable):
    """Responses by their keys, each as the second in which it was used last."""

    def __init__(self, kept: dict[str, list[float]]) -> None:
        self.kept = kept
        self.lost = 0
        self.batches: list[int] = []

    async def purge(self, before_ms: int, most: int = 3) -> int:
        if self.lost:
            self.lost -= 1
            raise DatabaseLost("gone")
        gone = 0
        for seconds in self.kept.values():
            for at in [at for at in seconds if at * 1000 < before_ms][: most - gone]:
                seconds.remove(at)
                gone += 1
        self.batches.append(gone)
        return gone

    async def crowded(self, most: int) -> dict[str, int]:
        return {key: len(at) - most for key, at in self.kept.items() if len(at) > most}

    async def thin(self, owner: str, most: int) -> int:
        gone = min(most, 2)
        del self.kept[owner][:gone]
        return gone


def remembered(table: Table, **stated: float) -> Remembered:
    shelf = Shelf(table, OPEN, lambda: int(anyio.current_time() * 1000))
    return Remembered(shelf, ResponsesConfig.model_validate(stated))


async def test_what_was_not_used_for_as_long_as_it_is_kept_goes() -> None:
    began = anyio.current_time()
    table = Table({"k1": [began + n * DAY_S for n in range(10)]})
    table.lost = 2
    async with anyio.create_task_group() as group:
        group.start_soon(remembered(table, retention=3 * DAY_S).serve)
        await anyio.sleep(7 * DAY_S + 120)
        group.cancel_scope.cancel()

    assert table.kept == {"k1": [began + n * DAY_S for n in range(5, 10)]}


async def test_it_goes_a_batch_at_a_time() -> None:
    table = Table({"k1": [0.0] * 8})
    await anyio.sleep(100)

    assert await remembered(table, retention=1).sweep() == 8
    assert table.batches == [3, 3, 2, 0]


async def test_the_oldest_go_of_a_key_that_has_too_many() -> None:
    now = anyio.current_time()
    table = Table({"k1": [now + n for n in range(9)], "k2": [now]})

    assert await remembered(table, per_key=4).sweep() == 5

    assert table.kept == {"k1": [now + n for n in range(5, 9)], "k2": [now]}
