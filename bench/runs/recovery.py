"""How soon work that was killed is where it was, against doing it again.

The replica is killed in the midst of a call. When its lease is over the work is asked for again,
from its start, at another replica: what is settled comes from the journal.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeAlias

import aiohttp
import anyio
import orjson
from anyio import to_thread

from bench.pacing.agents import whole
from bench.runs.provider import Weather
from bench.runs.rig import LEASE_S, Replica, Rig, rig
from techniques.core.groups import task_group
from techniques.core.json import Json

CALL_S: Final = 0.5
STEPS: Final = 12
_SAMPLES: Final = 5
Work: TypeAlias = Callable[[Rig, Replica, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Recovered:
    """How one kill was got over.

    Attributes:
        share: Of its calls, how many had begun when it was killed.
        done_s: How long the work had taken until the call that was killed.
        back_s: How long it took, asked for again, until the next call.
        settled: Calls that were answered from the journal.
        again: Calls that were paid once more.
    """

    work: str
    share: float
    done_s: float
    back_s: float
    settled: int
    again: int


async def recovery(shares: Sequence[float] = (0.1, 0.5, 0.9)) -> list[Recovered]:
    """Kill each kind of work at each of *shares* of its calls."""
    weather = Weather(fastest_s=CALL_S, slowest_s=CALL_S)
    async with rig(weather, 2, "sqlite") as scene:
        return [
            await _one(scene, name, share, number)
            for name in _WORKS
            for number, share in enumerate(shares)
        ]


async def _one(scene: Rig, name: str, share: float, number: int) -> Recovered:
    work, calls = _WORKS[name]
    first, second = scene.replicas
    task, before = f"{name} {number}", len(scene.provider.calls)
    at = max(1, round(share * calls))
    began = time.perf_counter()
    async with task_group() as group:
        group.start_soon(_broken_off, work, scene, first, task)
        await scene.provider.called(before + at)
        await anyio.sleep(CALL_S / 2)
        asked = scene.provider.calls[before:]
        flying = sum(call.done is None for call in asked)
        done_s = max(call.at for call in asked) - began
        await to_thread.run_sync(first.kill)
        group.cancel_scope.cancel()
    await anyio.sleep(LEASE_S * 1.5)
    again, begun = len(scene.provider.calls), time.perf_counter()
    await work(scene, second, task)
    next_one = scene.provider.calls[again]
    await to_thread.run_sync(first.start)
    total = len(scene.provider.calls) - before
    return Recovered(name, share, done_s, next_one.at - begun, len(asked) - flying, total - calls)


async def _broken_off(work: Work, scene: Rig, replica: Replica, task: str) -> None:
    with suppress(aiohttp.ClientError, OSError):  # it is killed
        await work(scene, replica, task)


async def _agent(scene: Rig, replica: Replica, task: str) -> None:
    """Take twelve steps one after the other, each a call with a name."""
    turns: list[Json] = []
    async with aiohttp.ClientSession() as session:
        for step in range(STEPS):
            question = f"This is step {step} of {task}. What is {step + 2} * 7?"
            turns.append({"role": "user", "content": question})
            said = {"idempotency-key": f"{task}/{step}"}
            answer = await _post(session, (scene, replica), turns, said)
            turns.append({"role": "assistant", "content": answer})


async def _tree(scene: Rig, replica: Replica, task: str) -> None:
    """Have one answer chosen among several by what a judge says of each."""
    turns: list[Json] = [{"role": "user", "content": f"For {task}: what is 17 * 23?"}]
    said = {
        "idempotency-key": task,
        "x-lockgate-technique": "weighted_bon",
        "x-lockgate-params": orjson.dumps({"num_samples": _SAMPLES}).decode(),
    }
    async with aiohttp.ClientSession() as session:
        await _post(session, (scene, replica), turns, said)


_WORKS: Final[dict[str, tuple[Work, int]]] = {
    "an agent of 12 steps": (_agent, STEPS),
    "a technique of 10 calls": (_tree, 2 * _SAMPLES),
}


async def _post(
    session: aiohttp.ClientSession,
    where: tuple[Rig, Replica],
    turns: Sequence[Json],
    said: dict[str, str],
) -> str:
    scene, replica = where
    body = orjson.dumps({"model": "chaos-small", "messages": list(turns), "seed": 1})
    url = f"http://127.0.0.1:{replica.port}/v1/chat/completions"
    async with session.post(url, data=body, headers={**scene.headers, **said}) as answer:
        got = await answer.read()
        assert answer.status == 200, got
        return whole(got)


def recovery_table(found: Sequence[Recovered]) -> str:
    """Return all kills as a Markdown table."""
    lines = [
        "| killed | at | doing it again, s | going on, s | ratio | calls from the journal |"
        " calls paid again |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for one in found:
        cells = [
            *(one.work, f"{100 * one.share:.0f} %", f"{one.done_s:.2f}", f"{one.back_s:.3f}"),
            *(f"{one.done_s / one.back_s:.0f}", str(one.settled), str(one.again)),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines.append(
        f"\nA call takes {CALL_S} s. Seconds are those until the work is where it was when it was"
        " killed. The calls under way then are paid again: nobody knows what came of them. Before"
        f" that the dead replica's lease has to end, {LEASE_S:g} s here and 15 s if nothing else is"
        " said."
    )
    return "\n".join(lines)
