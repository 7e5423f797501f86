"""What the journal costs: CPU of a step, and for how long it keeps the event loop from turning.

``python -m bench.journal [--runs N] [--at-once N] [--encrypted]`` carries out runs of a technique
whose calls are answered at once, without a journal and with one in SQLite, in turn, and prints the
difference. CPU is that of the whole process, so of the journal's thread too. The longest block is
how much later than asked a task wakes up that sleeps for a millisecond; the same is printed without
a journal.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random  # noqa: TID251 - the type; nothing is drawn
from statistics import median
from typing import Any, Final

import anyio
import orjson

from gateway.app import CHAT
from gateway.channels.retrying import RetryPolicy
from gateway.metering.ledger import Ledger
from gateway.pipeline import Asked, Pipeline
from gateway.planning.plan import Defaults
from gateway.planning.planner import Planner
from gateway.policy.keys import OPEN
from gateway.policy.models import Catalogue, Model
from gateway.policy.wishes import Wishes
from gateway.runs.book import RunBook
from gateway.runs.live import LiveRun
from gateway.stores.database.engine import opened
from gateway.stores.journal.seal import Seal
from gateway.stores.journal.sealed import SealedJournal
from gateway.stores.journal.sql import sql_journal
from gateway.surfaces.kept import wanted
from gateway.upstream.provider import Target
from pricing.price import Price
from pricing.usage import Usage
from techniques import catalog
from techniques.core.channel import EventStream
from techniques.core.events import Event
from techniques.core.groups import task_group
from techniques.core.registry import load
from techniques.core.reply import replied, unfold
from techniques.core.request import Request

STEPS: Final = 5
_ROUNDS: Final = 5
_TICK_S: Final = 0.001
_TEXT: Final = "Let me see. " * 60
_SPEECH: Final = "You are of help. " * 120


@dataclass(frozen=True, slots=True)
class _Answers:
    """Answers each call at once, and each otherwise."""

    target: Target = field(default_factory=lambda: Target("m", "p", "m"))
    numbers: Any = field(default_factory=count)

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncIterator[AsyncIterator[Event]]:
        del request
        await anyio.lowlevel.checkpoint()
        yield self._events()

    async def _events(self) -> AsyncIterator[Event]:
        text = f"{_TEXT}Final answer: {next(self.numbers)}"
        for event in unfold(replied(text, usage=Usage(500, 200))):
            yield event


def _pipeline() -> Pipeline:
    model = Model(_Answers(), Price(1_000_000, 2_000_000))  # type: ignore[arg-type]
    planner = Planner(Catalogue([model]), load(catalog), Defaults())
    return Pipeline(planner, RetryPolicy(), Random(1))


def _asked(number: int) -> tuple[Asked, bytes]:
    said = [
        {"role": "system", "content": _SPEECH},
        {"role": "user", "content": f"What is {number} * 7?"},
    ]
    body = {"model": "m", "messages": said}
    raw = orjson.dumps(body)
    wishes = Wishes(technique="self_consistency", params={"num_samples": STEPS})
    return Asked(CHAT.decode(body, raw), OPEN, wishes, request_id=f"r{number}"), raw


async def _one(pipeline: Pipeline, book: RunBook | None, number: int) -> int:
    """Carry one run out, and return how many steps it had."""
    asked, raw = _asked(number)
    plan, ledger = pipeline.plan(asked), Ledger()

    def carry(live: LiveRun | None) -> EventStream:
        return pipeline.answer(asked, plan, ledger, live)

    answer = carry(None)
    if book is not None:
        begun = await book.begin(wanted(asked, plan, {}, raw), carry, ledger)
        assert begun is not None
        answer = begun.answer
    async with answer as events:
        async for _ in events:
            pass
    return len(ledger.rows)


async def _blocked(longest: list[float]) -> None:
    while True:
        began = time.perf_counter()
        await anyio.sleep(_TICK_S)
        longest.append(time.perf_counter() - began - _TICK_S)


@dataclass(frozen=True, slots=True)
class Round:
    """CPU of a step in milliseconds, and the blocks of the loop in milliseconds, longest last."""

    cpu_ms: float
    blocks_ms: list[float]


async def measured(pipeline: Pipeline, book: RunBook | None, runs: range, at_once: int) -> Round:
    """Carry *runs* out, *at_once* at a time."""
    waiting, steps = iter(runs), 0

    async def work() -> None:
        nonlocal steps
        for number in waiting:
            done = await _one(pipeline, book, number)
            steps += done

    blocks: list[float] = []
    gc.collect()
    gc.disable()  # what it does is the same with and without
    began = time.process_time()
    async with task_group() as group:
        group.start_soon(_blocked, blocks)
        async with task_group() as workers:
            for _ in range(at_once):
                workers.start_soon(work)
        group.cancel_scope.cancel()
    cpu_s = time.process_time() - began
    gc.enable()
    return Round(1000 * cpu_s / steps, sorted(1000 * block for block in blocks))


async def compared(
    folder: Path, runs: int, at_once: int, seal: Seal
) -> tuple[list[Round], list[Round]]:
    """Measure without and with a journal in turn."""
    url = f"sqlite+aiosqlite:///{folder}/journal.db"
    pipeline = _pipeline()
    without: list[Round] = []
    with_one: list[Round] = []
    async with opened(url) as database, sql_journal(database, url) as journal:
        book = RunBook(SealedJournal(journal, seal))
        async with task_group() as group:
            await group.start(book.floor.serve)
            for number in range(_ROUNDS + 1):
                numbers = range(number * runs, (number + 1) * runs)
                without.append(await measured(pipeline, None, numbers, at_once))
                with_one.append(await measured(pipeline, book, numbers, at_once))
            group.cancel_scope.cancel()
    return without[1:], with_one[1:]  # the first is to warm up


def main() -> None:
    """Measure, and print a line each."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--runs", type=int, default=300, help="in a round")
    asked.add_argument("--at-once", type=int, nargs="*", default=[1, 8, 32])
    asked.add_argument("--encrypted", action="store_true", help="a journal that is encrypted")
    stated = asked.parse_args()
    seal = Seal([bytes(32)] if stated.encrypted else [])
    print("at once  CPU a step, ms: without  with  added   longest block, ms: without  with")  # noqa: T201
    for at_once in stated.at_once:
        with tempfile.TemporaryDirectory() as folder:
            without, with_one = asyncio.run(compared(Path(folder), stated.runs, at_once, seal))
        plain, kept = (median(r.cpu_ms for r in rounds) for rounds in (without, with_one))
        worst = [max(r.blocks_ms[-1] for r in rounds) for rounds in (without, with_one)]
        cpu = f"{plain:25.3f}{kept:6.3f}{kept - plain:7.3f}"
        print(f"{at_once:7d}{cpu}{worst[0]:28.1f}{worst[1]:6.1f}")  # noqa: T201


if __name__ == "__main__":
    main()
