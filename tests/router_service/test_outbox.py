from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import anyio
import pytest

from router_service.contract import Observation, RouterGone
from router_service.outbox import NotTaken, Outbox
from techniques.core.groups import task_group
from tests.router_service.store.scene import observation


class Far:
    """A router far away; it is gone, or refuses the rows that are called so."""

    def __init__(self, *refused: str) -> None:
        self.gone = False
        self.refused = refused
        self.got: list[str] = []
        self.asked: list[float] = []
        self.counted: Counter[str] = Counter()

    async def send(self, rows: Sequence[Observation]) -> None:
        self.asked.append(anyio.current_time())
        if self.gone:
            raise RouterGone("gone")
        if any(row.id in self.refused for row in rows):
            raise NotTaken("one of them")
        self.got += [row.id for row in rows]

    def count(self, result: str, number: int) -> None:
        self.counted[result] += number

    def outbox(self, most: int = 1_000) -> Outbox:
        return Outbox(self.send, self.count, most)


def rows(number: int, begin: int = 0) -> list[Observation]:
    return [observation(str(each)) for each in range(begin, begin + number)]


async def test_what_is_put_is_sent_soon_and_in_order() -> None:
    far = Far()
    outbox = far.outbox()
    async with task_group() as group:
        group.start_soon(outbox.run)
        outbox.put(rows(3))
        outbox.put(rows(600, 3))
        await anyio.sleep(1)
        group.cancel_scope.cancel()

    assert far.got == [str(number) for number in range(603)]
    assert far.counted == {"sent": 603}


async def test_it_holds_so_many_and_counts_what_it_drops() -> None:
    far = Far()
    outbox = far.outbox(most=4)
    outbox.put(rows(3))
    outbox.put(rows(3, 3))
    await outbox.flush()

    assert far.got == ["0", "1", "2", "3"]
    assert far.counted == {"dropped": 2, "sent": 4}


async def test_while_nobody_answers_it_asks_ever_more_seldom_and_loses_nothing() -> None:
    far = Far()
    far.gone = True
    outbox = far.outbox()
    async with task_group() as group:
        group.start_soon(outbox.run)
        outbox.put(rows(2))
        await anyio.sleep(300)
        asked = len(far.asked)
        far.gone = False
        await anyio.sleep(31)
        group.cancel_scope.cancel()

    pauses = [after - before for before, after in zip(far.asked, far.asked[1:], strict=False)]
    assert pauses == sorted(pauses)
    assert max(pauses) == pytest.approx(30)
    assert asked < 20
    assert far.got == ["0", "1"]


async def test_one_that_is_refused_does_not_keep_the_others_back() -> None:
    far = Far("7", "0")
    outbox = far.outbox()
    outbox.put(rows(20))
    await outbox.flush()

    assert far.got == [str(number) for number in range(20) if number not in (0, 7)]
    assert far.counted == {"sent": 18, "dropped": 2}


async def test_at_the_end_what_cannot_be_sent_is_counted() -> None:
    far = Far()
    far.gone = True
    outbox = far.outbox()
    outbox.put(rows(2))
    await outbox.finish(2.0)

    assert far.counted == {"dropped": 2}


async def test_at_the_end_it_does_not_wait_for_who_hangs() -> None:
    async def hang(_rows: Sequence[Observation]) -> None:
        await anyio.sleep_forever()

    far = Far()
    outbox = Outbox(hang, far.count, 10)
    outbox.put(rows(1))
    began = anyio.current_time()
    await outbox.finish(2.0)

    assert anyio.current_time() - began == pytest.approx(2.0)
    assert far.counted == {"dropped": 1}


async def test_what_waits_of_a_caller_can_be_let_go() -> None:
    far = Far()
    outbox = far.outbox()
    outbox.put([observation("a"), observation("b", caller="other")])

    assert outbox.has("r-a")
    assert await outbox.drop("app") == 1
    assert not outbox.has("r-a")
    await outbox.flush()
    assert far.got == ["b"]
