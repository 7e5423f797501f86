"""A gateway with ``technique: auto`` that learns of its own traffic, against every fixed technique.

The simulated provider answers a mixed workload; a grader that knows the answers says by
``/v1/feedback`` what each was worth. After so many requests the router is asked about prompts that
it has not seen, and its choices are compared with each arm taken always, and with arms taken at
random: by the mean over several carried-out answers of each arm to each of these prompts.

python -m bench.router.end_to_end            some minutes
python -m bench.router.end_to_end --quick    one minute, rougher
python -m bench.router.end_to_end --seeds 1..5    each of them, and what they come to together
python -m bench.router.end_to_end --share 0.03 --unpaired    as a gateway does it by default
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random  # noqa: TID251 - seeded
from typing import Final

import anyio
import httpx2
import numpy as np
from numpy.typing import NDArray
from starlette.types import ASGIApp

from bench.router.workload import Prompt, prompts
from gateway.app import App
from gateway.config import Config, Secrets
from gateway.metering.ledger import Ledger
from gateway.pipeline import Asked
from gateway.policy.keys import OPEN
from gateway.policy.wishes import Wishes
from gateway.routing.asking import Asker
from gateway.surfaces.completion import CompletionEndpoint
from gateway.surfaces.spoken import CHAT
from gateway.wiring import Parts, running
from router_service.arms import PLAIN
from router_service.contract import RouteDecision, RouteQuery

_LAMBDA: Final = 1.0
_DRAWS: Final = 2000
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Size:
    """How many requests to learn from, how many prompts to be judged by, answers of each arm.

    It is learnt anew every ``refresh`` requests. ``paired``: the grader also says what the plain
    answer was worth, where a technique drew one.
    """

    learnt: int = 600
    judged: int = 150
    answers: int = 5
    refresh: int = 5
    paired: bool = True


@dataclass(frozen=True, slots=True)
class Compared:
    """By how many points of utility the router is above another policy, with its 95 % interval."""

    name: str
    utility: float
    above: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Proof:
    """What came of it. ``explored_usd`` is what trying arms out cost, of ``budget_usd``."""

    utility: float
    rivals: Sequence[Compared]
    chosen: Mapping[str, Counter[str]]
    explored_usd: float
    budget_usd: float
    explored: int

    @property
    def nearest(self) -> Compared:
        """The rival that the router is least above."""
        return min(self.rivals, key=lambda rival: rival.above)

    @property
    def holds(self) -> bool:
        """Whether the router is above all others and within its budget."""
        above = all(rival.low > 0 for rival in self.rivals)
        return above and self.explored_usd <= self.budget_usd


class Forced:
    """A router that takes one arm where it may be taken, else the plain call."""

    def __init__(self, arm: str) -> None:
        self._arm = arm

    async def route(self, query: RouteQuery) -> RouteDecision:
        """Take it."""
        may = any(one.arm == self._arm and not one.masked for one in query.offers)
        return RouteDecision(arm=self._arm if may else PLAIN.name, why="forced")


def config_of(folder: Path, seed: int, share: float) -> Config:
    """Return the gateway's configuration: two models of the simulation, and a router that learns.

    Trying arms out may cost *share* of the spend.
    """
    sim = {"provider": "sim"}
    return Config.model_validate(
        {
            "providers": {"sim": {"dialect": "openai_chat", "simulated": {"seed": seed}}},
            "models": [
                {
                    **sim,
                    "name": "small",
                    "model": "sim-small",
                    "price": {"input": 1, "output": 4},
                    "stronger": "large",
                },
                {
                    **sim,
                    "name": "large",
                    "model": "sim-large",
                    "price": {"input": 10, "output": 40},
                },
            ],
            "reliability": {"judge": "large", "channels": ["large"]},
            "database": {"url": f"sqlite:///{folder}/all.db"},
            "pacing": {"mode": "off"},
            "journal": {"durability": "off"},
            "router": {
                "type": "semknn",
                "lambda": _LAMBDA,
                "timeout_ms": 10_000,
                "refresh_s": 3_600,  # it is told when to look, so that a seed decides everything
                "learning": {
                    "enabled": True,
                    "exploration": {"share": share, "rate": 0.5, "max_usd": 0.05},
                    "sampling": {"judge_rate": 0, "trace_rate": 0},
                },
            },
        }
    )


@asynccontextmanager
async def _client(app: ASGIApp) -> AsyncGenerator[httpx2.AsyncClient, None]:
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


@dataclass(frozen=True, slots=True)
class _Answer:
    """The id of a request, what its answer and the plain one are worth, what it cost in dollars."""

    name: str
    worth: float
    plain: float | None
    usd: float


async def _asked(client: httpx2.AsyncClient, prompt: Prompt) -> _Answer:
    headers = {"x-lockgate-technique": "auto", "x-lockgate-expose": "trace"}
    body = {"model": "small", **prompt.body}
    answer = await client.post("/v1/chat/completions", json=body, headers=headers)
    answer.raise_for_status()
    said, told = answer.json(), answer.headers
    return _Answer(
        told["x-lockgate-request-id"],
        prompt.grade(said["choices"][0]["message"]),
        prompt.plain_worth(said.get("lockgate", {}).get("trace", [])),
        float(told["x-lockgate-cost-usd"]),
    )


async def _learn(parts: Parts, size: Size, seed: int) -> None:
    """Have the gateway serve prompts and be told what its answers were worth."""
    choosing = parts.house.lasting.choosing
    assert choosing is not None
    assert choosing.learner is not None
    app = App(_never)
    app.show(parts)
    async with _client(app) as client:
        for number, prompt in enumerate(prompts(size.learnt, seed), 1):
            got = await _asked(client, prompt)
            plain = got.plain if size.paired else None
            told = {"request_id": got.name, "score": got.worth, "plain_score": plain}
            said = await client.post("/v1/feedback", json=told)
            said.raise_for_status()
            if number % size.refresh == 0:
                await choosing.observer.flush()
                await choosing.learner.refresh()


@asynccontextmanager
async def _never() -> AsyncGenerator[Parts, None]:
    raise AssertionError("its parts are shown to it")
    yield


async def _chosen(parts: Parts, judged: Sequence[Prompt]) -> list[tuple[str, RouteQuery]]:
    """Return the arm that the router takes now for each prompt, and what it was offered."""
    pipeline, found = parts.front.pipeline, []
    for prompt in judged:
        call = CHAT.decode({"model": "small", **prompt.body}, b"")
        asked = Asked(call, OPEN, Wishes(technique="auto", explore=False))
        plan = await pipeline.routed(asked, pipeline.plan(asked), Ledger().record)
        assert plan.routed is not None
        assert plan.query is not None
        found.append((plan.routed.arm, plan.query))
    return found


async def _table(
    parts: Parts, judged: Sequence[Prompt], arms: Sequence[str], answers: int
) -> tuple[Numbers, Numbers]:
    """Return the mean worth and the mean cost of each arm's answers to each prompt."""
    worth, cost = (np.zeros((len(judged), len(arms))) for _ in range(2))
    pipeline = parts.front.pipeline
    assert pipeline.routing is not None
    for column, arm in enumerate(arms):
        forced = replace(pipeline.routing, asker=Asker(Forced(arm), None, 1.0, 1.0))
        front = replace(
            parts.front, pipeline=replace(pipeline, routing=forced), observer=None, behind=None
        )
        async with _client(CompletionEndpoint(CHAT, front)) as client:
            for row, prompt in enumerate(judged):
                for _ in range(answers):
                    got = await _asked(client, prompt)
                    worth[row, column] += got.worth / answers
                    cost[row, column] += got.usd / answers
    return worth, cost


def utilities(worth: Numbers, cost: Numbers, plain: int) -> Numbers:
    """Return the points of utility of each arm for each prompt."""
    times = cost / cost[:, plain : plain + 1]
    points: Numbers = 100 * worth - _LAMBDA * (times - 1)
    return points


def compared(name: str, own: Numbers, other: Numbers, seed: int) -> Compared:
    """Return how far *own* utilities are above those of *other*, by a bootstrap over prompts."""
    differences = own - other
    dice = np.random.default_rng(seed)
    drawn = dice.integers(0, len(differences), (_DRAWS, len(differences)))
    means = differences[drawn].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return Compared(name, float(other.mean()), float(differences.mean()), float(low), float(high))


async def proof(size: Size, seed: int = 1, share: float = 0.5) -> Proof:
    """Learn, choose, and compare."""
    with tempfile.TemporaryDirectory() as folder:
        config = config_of(Path(folder), seed, share)
        async with running(config, Secrets(None, None)) as found:
            pipeline = replace(found.front.pipeline, random=Random(seed))
            parts = replace(found, front=replace(found.front, pipeline=pipeline))
            choosing = parts.house.lasting.choosing
            assert choosing is not None
            assert choosing.explorer is not None
            setattr(choosing.explorer, "_dice", Random(seed).random)  # noqa: B010 - seeded
            tried: Counter[str] = Counter()
            choosing.observer.beside.append(
                lambda _, seen: tried.update([seen.arm] if seen.explored else [])
            )
            await _learn(parts, size, seed)
            purse, now = choosing.explorer.purse, anyio.current_time()
            spent, budget = purse.spent(now), purse.allowance(now).total_usd
            judged = list(prompts(size.judged, seed + 1))
            chosen = await _chosen(parts, judged)
            arms = [offer.arm for offer in chosen[0][1].offers]
            worth, cost = await _table(parts, judged, arms, size.answers)
    points = utilities(worth, cost, arms.index(PLAIN.name))
    own = points[np.arange(len(judged)), [arms.index(arm) for arm, _ in chosen]]
    rivals = [compared(arm, own, points[:, place], seed) for place, arm in enumerate(arms)]
    rivals.append(compared("at random", own, _at_random(points, arms, chosen), seed))
    by_kind: dict[str, Counter[str]] = {}
    for prompt, (arm, _) in zip(judged, chosen, strict=True):
        by_kind.setdefault(prompt.kind, Counter())[arm] += 1
    return Proof(float(own.mean()), rivals, by_kind, spent, budget, tried.total())


def _at_random(
    points: Numbers, arms: Sequence[str], chosen: Sequence[tuple[str, RouteQuery]]
) -> Numbers:
    """Return the utility of taking any arm that may be taken, each as likely as the others."""
    may = np.array(
        [
            [not offer.masked for arm in arms for offer in query.offers if offer.arm == arm]
            for _, query in chosen
        ]
    )
    mean: Numbers = (points * may).sum(axis=1) / may.sum(axis=1)
    return mean


def table(found: Proof) -> str:
    """Return *found* as Markdown."""
    lines = [
        f"Utility of the router: {found.utility:.1f} points.",
        "",
        "| always | utility | the router is above it by | 95 % |",
        "| --- | --- | --- | --- |",
    ]
    for one in sorted(found.rivals, key=lambda rival: -rival.utility):
        interval = f"{one.low:+.1f} to {one.high:+.1f}"
        lines.append(f"| `{one.name}` | {one.utility:.1f} | {one.above:+.1f} | {interval} |")
    lines += ["", "| kind | chosen |", "| --- | --- |"]
    for kind, arms in sorted(found.chosen.items()):
        told = ", ".join(f"`{arm}` {number}" for arm, number in arms.most_common())
        lines.append(f"| {kind} | {told} |")
    spent = f"${found.explored_usd:.6f} of ${found.budget_usd:.6f}"
    lines += ["", f"Tried out: {found.explored} requests, {spent}."]
    return "\n".join(lines)


def seeds_of(told: str) -> Sequence[int]:
    """Return the seeds from the first to the last of ``FIRST..LAST``, or the only one."""
    first, _, last = told.partition("..")
    return range(int(first), int(last or first) + 1)


def together(found: Mapping[int, Proof]) -> str:
    """Return what came of several seeds as Markdown: each beside its nearest rival."""
    lines = [
        "| seed | utility | the nearest | above it by | 95 % | tried out, of | holds |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for seed, one in found.items():
        near = one.nearest
        spent = f"${one.explored_usd:.3f} of ${one.budget_usd:.3f}"
        interval = f"{near.low:+.1f} to {near.high:+.1f}"
        lines.append(
            f"| {seed} | {one.utility:.1f} | `{near.name}` {near.utility:.1f} | {near.above:+.1f} "
            f"| {interval} | {spent} | {'yes' if one.holds else 'no'} |"
        )
    above = np.array([one.nearest.above for one in found.values()])
    half = 1.96 * float(above.std(ddof=1)) / len(above) ** 0.5 if len(above) > 1 else float("nan")
    held = sum(one.holds for one in found.values())
    lines += [
        "",
        f"It holds for {held} of {len(found)} seeds. Above the nearest, the mean of all: "
        f"{above.mean():+.1f} ({above.mean() - half:+.1f} to {above.mean() + half:+.1f}).",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 where the router is not above all others, or spent too much."""
    parser = argparse.ArgumentParser(prog="python -m bench.router.end_to_end")
    parser.add_argument("--quick", action="store_true", help="one minute, rougher")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=seeds_of, help="FIRST..LAST, one after the other")
    parser.add_argument("--share", type=float, default=0.5, help="of the spend, to try arms out")
    parser.add_argument("--unpaired", action="store_true", help="nothing is said of plain answers")
    given = parser.parse_args(arguments)
    size = Size(600, 60, 2) if given.quick else Size()
    size = replace(size, paired=not given.unpaired)
    found: dict[int, Proof] = {}
    for seed in given.seeds or [given.seed]:
        found[seed] = anyio.run(proof, size, seed, given.share)
        sys.stdout.write(f"Seed {seed}.\n\n{table(found[seed])}\n\n")
        sys.stdout.flush()
    if given.seeds:
        sys.stdout.write(together(found) + "\n")
    return 0 if all(one.holds for one in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
