"""Twelve steps on an account of 6,000 tokens a minute: a client that runs into 429s, and ours.

Both are the same client: one conversation that grows, an answer of a sentence to each question.
After a 429 it waits as long as it is told and a second more, and asks the question once more.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random  # noqa: TID251 - always with a seed
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal, TypeAlias

import aiohttp
from anyio import to_thread

from bench.pacing import rig
from bench.pacing.account import Terms
from bench.pacing.agents import MAX_TOKENS, Agent, Target, World
from bench.rig import Server
from techniques.core.groups import task_group

Arm: TypeAlias = Literal["reactive", "ours", "stated"]
ARMS: Final[tuple[Arm, ...]] = ("reactive", "ours", "stated")
"""Straight to the provider; through the gateway; and so that it is told how long answers may be."""

STEPS: Final = 12
TPM: Final = 6000
MOST_LONGER: Final = 1.1
"""How much longer than the reactive client's ours may take."""
SPEED: Final = 3.0
_CONTEXT: Final = 1000
_SENTENCE: Final = (20, 40)
_STATED: Final = 60
_KEPT_S: Final = 2.0


class Talker(Agent):
    """An agent that is answered in a sentence, for which it allows *most* tokens."""

    most: int = MAX_TOKENS

    def body(self, length: int) -> dict[str, Any]:
        """Return the request of the next step."""
        return {**super().body(length), "max_tokens": self.most}

    def length(self) -> int:
        """Return how many tokens the next answer has."""
        return Random(f"{self.seed}/{len(self.turns)}").randint(*_SENTENCE)


@dataclass(frozen=True, slots=True)
class Paced:
    """What one conversation met with; seconds are the account's."""

    refused: int
    resent: int
    unasked: int
    wall_s: float
    broken: int


async def paced(seeds: int = 5, speed: float = SPEED) -> dict[Arm, list[Paced]]:
    """Have *seeds* conversations of each arm, each on an account of its own."""
    found: dict[Arm, list[Paced]] = {}
    for arm in ARMS:
        with TemporaryDirectory(prefix="lockgate-paced-") as folder, ExitStack() as stack:
            bases = await to_thread.run_sync(_started, arm, (seeds, speed), (Path(folder), stack))
            found[arm] = await _talk(*bases, (speed, _STATED if arm == "stated" else MAX_TOKENS))
            await to_thread.run_sync(stack.close)
    return found


def _started(
    arm: Arm, size: tuple[int, float], place: rig.Place
) -> tuple[Server, dict[str, Terms], list[Target]]:
    seeds, speed = size
    accounts = {f"talk-{seed}": Terms("groq", tpm=TPM, seed=seed) for seed in range(seeds)}
    provider = rig.start_provider(place, speed)
    if arm == "reactive":
        base = f"http://127.0.0.1:{provider.port}"
        return provider, accounts, [Target(f"{base}/{name}", "model-1") for name in accounts]
    wired = rig.Wired(provider.port, speed, rig.start_store(place).port)
    (gateway,) = rig.start_gateways(accounts, list(accounts), wired, place, count=1)
    base = f"http://127.0.0.1:{gateway.port}"
    return provider, accounts, [Target(base, name, name) for name in accounts]


async def _talk(
    provider: Server,
    accounts: Mapping[str, Terms],
    targets: Sequence[Target],
    how: tuple[float, int],
) -> list[Paced]:
    speed, most = how
    agents = [
        Talker(target, seed, _CONTEXT, streams=False, steps=STEPS)
        for seed, target in enumerate(targets)
    ]
    for agent in agents:
        agent.most = most
    walls: dict[int, float] = {}
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEPT_S)
    async with aiohttp.ClientSession(connector=connector) as session:
        world = World(session, speed)
        rig.make_accounts(provider, accounts)

        async def one(agent: Agent) -> None:
            began = time.perf_counter()
            await world.live([agent], agent.seed)
            walls[agent.seed] = (time.perf_counter() - began) * speed

        async with task_group() as group:
            for agent in agents:
                group.start_soon(one, agent)
    counted = rig.counts(provider)
    return [_met(agent, counted[name], walls) for name, agent in zip(accounts, agents, strict=True)]


def _met(agent: Agent, counted: Mapping[str, float], walls: Mapping[int, float]) -> Paced:
    unended = agent.lived.done_s is None
    return Paced(
        int(counted["refused"]),
        int(counted["resent"]),
        int(counted["unasked"]),
        walls[agent.seed],
        len(agent.lived.broken) + unended,
    )


def paced_table(found: Mapping[Arm, Sequence[Paced]], speed: float = SPEED) -> str:
    """Return both arms as a Markdown table, means of all conversations, and the bars."""
    lines = [
        "| 12 steps at 6,000 TPM | 429 | tokens sent again | calls nobody asked for | wall, s |"
        " failed |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for arm, met in found.items():
        cells = [
            f"{fmean(one.refused for one in met):.1f}",
            f"{fmean(one.resent for one in met):,.0f}",
            f"{fmean(one.unasked for one in met):.1f}",
            f"{fmean(one.wall_s for one in met):.1f}",
            str(sum(one.broken for one in met)),
        ]
        lines.append(f"| {_NAMES[arm]} | {' | '.join(cells)} |")
    lines.append(f"\n{_bars(found)} {len(found['ours'])} conversations an arm, {speed:g} times")
    return "\n".join(lines) + " faster than the world."


def _bars(found: Mapping[Arm, Sequence[Paced]]) -> str:
    theirs = fmean(one.wall_s for one in found["reactive"])
    met = [*found["ours"], *found["stated"]]
    clean = not any(one.refused or one.resent or one.broken for one in met)
    told = f"Bars: zero 429 and zero tokens sent again: {'met' if clean else '**not met**'};"
    bars: tuple[tuple[Arm, str], ...] = (
        ("ours", "wall"),
        ("stated", "with `max_tokens` of a sentence"),
    )
    for arm, name in bars:
        ratio = fmean(one.wall_s for one in found[arm]) / theirs
        verdict = "met" if ratio <= MOST_LONGER else "**not met**"
        told += f" {name} ≤ {MOST_LONGER} x the reactive client's: {ratio:.3f}, {verdict};"
    return f"{told[:-1]}."


_NAMES: Final[Mapping[Arm, str]] = {
    "reactive": "straight to the provider, reacting to 429",
    "ours": f"through Lockgate, `max_tokens` {MAX_TOKENS}",
    "stated": f"through Lockgate, `max_tokens` {_STATED}",
}
