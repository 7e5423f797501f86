"""One of many processes that ask for the same windows at once."""

from __future__ import annotations

from multiprocessing.queues import Queue

import anyio

from gateway.stores.ledger import Ask, Entry, Granted, Place
from gateway.stores.redis import RedisSettings, redis_ledger

ASKED = 400
_AT_ONCE = 50


def ask_often(url: str, process: int, told: Queue[int]) -> None:
    """Ask 400 times for 500 tokens, many at once, and tell how many were granted."""
    told.put(anyio.run(_run, url, process))


async def _run(url: str, process: int) -> int:
    answers: list[object] = []
    async with redis_ledger(RedisSettings([url], deadline_s=20)) as ledger:

        async def ask(number: int) -> None:
            asks = (Ask(f"{process}-{number}", {"tok": 500, "req": 1}),)
            entry = Entry(asks, Place(queue=False))
            answers.append(await ledger.admit("race", entry, dispatched=True))

        for first in range(0, ASKED, _AT_ONCE):
            async with anyio.create_task_group() as group:
                for number in range(first, first + _AT_ONCE):
                    group.start_soon(ask, number)
    return sum(isinstance(answer, Granted) for answer in answers)
