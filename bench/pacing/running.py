"""Runs all fleets of one arm at the same time, each on an account of its own."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, TypeAlias

import aiohttp
import anyio
from anyio import to_thread

from bench.pacing import rig
from bench.pacing.account import VENDORS, Terms, Vendor
from bench.pacing.agents import AGENTS, STEPS, Agent, Target, World, fleet
from bench.pacing.statistics import Figures, figures, quantile
from bench.rig import Server
from techniques.core.groups import task_group

Arm: TypeAlias = Literal["paced", "unpaced", "wary", "reactive"]
ARMS: Final[tuple[Arm, ...]] = ("paced", "unpaced", "wary", "reactive")
"""Through the gateway that paces, through one that does not, and straight to the provider.

There each agent heeds what its own answers tell it, or none do.
"""

_WAVES: Final[tuple[frozenset[Arm], ...]] = (
    frozenset({"paced"}),
    frozenset({"unpaced", "wary", "reactive"}),
)

DRAIN: Final = 0.25
_KEPT_S: Final = 2.0  # less than servers keep idle connections, or a call may meet the closing
_LOOKS_S: Final = 0.05
_AZURE_RPM: Final = 60  # ten in each slice of ten seconds, so that the slices count


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be run: how often, for whom, and how many times faster than the world."""

    arms: Sequence[Arm] = ARMS
    vendors: Sequence[Vendor] = VENDORS
    drains: Sequence[float] = (0.0, DRAIN)
    runs: int = 5
    steps: int = STEPS
    speed: float = 6.0


@dataclass
class Ran:
    """What came of it: figures of each run by arm, vendor and drain; and what broke, how often.

    ``late_s``: by how much the machine woke agents late, 95 % of the times no more, by arm.
    """

    runs: dict[tuple[Arm, Vendor, float], list[Figures]] = field(default_factory=dict)
    late_s: dict[Arm, float] = field(default_factory=dict)
    broken: Counter[str] = field(default_factory=Counter)


def accounts(wanted: Wanted) -> dict[str, Terms]:
    """Return the accounts of one arm: each run has one, and every arm has the same."""
    return {
        f"{vendor}-{'shared' if drain else 'alone'}-{seed}": _terms(vendor, drain, seed)
        for seed in range(wanted.runs)
        for drain in wanted.drains
        for vendor in wanted.vendors
    }


def _terms(vendor: Vendor, drain: float, seed: int) -> Terms:
    terms = Terms(vendor, drain=drain, seed=seed)
    return replace(terms, rpm=_AZURE_RPM) if vendor == "azure" else terms


def keys(account: str) -> list[str]:
    """Return the keys of the agents of *account*."""
    return [f"{account}-agent-{number}" for number in range(AGENTS)]


async def run(wanted: Wanted, ran: Ran) -> None:
    """Run every arm: the one that is measured alone, then all that it is compared with at once."""
    for wave in _WAVES:
        async with task_group() as group:
            for arm in wanted.arms:
                if arm in wave:
                    group.start_soon(_arm, arm, wanted, ran)


@dataclass(frozen=True, slots=True)
class _Bases:
    """The processes that are there; no ``gateways``: agents go straight to the provider."""

    provider: Server
    gateways: list[Server]
    wary: bool = False


def _started(arm: Arm, wanted: Wanted, where: Path, stack: ExitStack) -> _Bases:
    place = where, stack
    provider = rig.start_provider(place, wanted.speed)
    if arm in {"wary", "reactive"}:
        return _Bases(provider, [], wary=arm == "wary")
    store = rig.start_store(place).port if arm == "paced" else None
    made = accounts(wanted)
    wired = rig.Wired(provider.port, wanted.speed, store)
    every = [key for name in made for key in keys(name)]
    return _Bases(provider, rig.start_gateways(made, every, wired, place))


async def _arm(arm: Arm, wanted: Wanted, ran: Ran) -> None:
    with TemporaryDirectory() as folder, ExitStack() as stack:
        bases = await to_thread.run_sync(_started, arm, wanted, Path(folder), stack)
        await _fleets(arm, wanted, bases, ran)
        await to_thread.run_sync(stack.close)


async def _fleets(arm: Arm, wanted: Wanted, bases: _Bases, ran: Ran) -> None:
    made = accounts(wanted)
    fleets = {
        name: fleet(_targets(name, terms, bases), terms.seed, wanted.steps)
        for name, terms in made.items()
    }
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEPT_S)
    patience = aiohttp.ClientTimeout(total=600)
    async with aiohttp.ClientSession(connector=connector, timeout=patience) as session:
        world = World(session, wanted.speed)
        rig.make_accounts(bases.provider, made)
        late: list[float] = []
        async with task_group() as group:
            group.start_soon(_lateness, late)
            lasted = await _all(world, bases.provider, fleets, made)
            group.cancel_scope.cancel()
        ran.late_s[arm] = quantile(late, 0.95)
    for name, terms in made.items():
        makespan_s, counted = lasted[name]
        found = figures(fleets[name], counted, terms, makespan_s)
        ran.runs.setdefault((arm, terms.vendor, terms.drain), []).append(found)
        for agent in fleets[name]:
            ran.broken.update(f"{arm}, {terms.vendor}: {one}" for one in agent.lived.broken)
    longest = max(makespan_s for makespan_s, _ in lasted.values())
    sys.stderr.write(f"{arm}: {len(made)} fleets, {longest / wanted.speed:.0f} s\n")


async def _lateness(late: list[float]) -> None:
    """Note how late timers are, until cancelled."""
    while True:
        due = time.perf_counter() + _LOOKS_S
        await anyio.sleep(_LOOKS_S)
        late.append(time.perf_counter() - due)


async def _all(
    world: World,
    provider: Server,
    fleets: Mapping[str, Sequence[Agent]],
    made: Mapping[str, Terms],
) -> dict[str, tuple[float, Mapping[str, float]]]:
    """Let all fleets live at once; return the seconds that each took, and its account's counts."""
    lasted: dict[str, tuple[float, Mapping[str, float]]] = {}

    async def one(name: str) -> None:
        makespan_s = await world.live(fleets[name], made[name].seed)
        lasted[name] = makespan_s, (await to_thread.run_sync(rig.counts, provider))[name]

    async with task_group() as group:
        for name in fleets:
            group.start_soon(one, name)
    return lasted


def _targets(account: str, terms: Terms, bases: _Bases) -> list[Target]:
    """Return where each agent sends its calls: the replicas in turn, or the provider."""
    anthropic = terms.vendor == "anthropic"
    if not bases.gateways:
        base = f"http://127.0.0.1:{bases.provider.port}/{account}"
        return [Target(base, "model-1", anthropic=anthropic, wary=bases.wary)] * AGENTS
    ports = [replica.port for replica in bases.gateways]
    return [
        Target(f"http://127.0.0.1:{ports[place % len(ports)]}", account, key, anthropic)
        for place, key in enumerate(keys(account))
    ]
