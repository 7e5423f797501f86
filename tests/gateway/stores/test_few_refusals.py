"""Agents that share an account are hardly ever refused, also where others use it unseen."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from gateway.stores.ledger import (
    Ask,
    Entry,
    Granted,
    Place,
    Refusal,
    Settlement,
    Waiting,
    WindowReading,
    WindowSpec,
)
from gateway.stores.memory import MemoryLedger

pytestmark = pytest.mark.anyio

CAP, REQUESTS, AGENTS, STEPS, MOST_OUTPUT = 30_000, 120, 16, 10, 650
MINUTE_MS = 60_000
WINDOWS = (
    WindowSpec("tok", "bucket", CAP, MINUTE_MS),
    WindowSpec("req", "bucket", REQUESTS, MINUTE_MS),
)


@dataclass
class Provider:
    """Two buckets that are charged with what a call uses, or refuse it."""

    tokens: float = CAP
    requests: float = REQUESTS
    at: float = 0
    refused: int = 0

    def advance(self, now: float) -> None:
        passed = (now - self.at) / MINUTE_MS
        self.tokens = min(CAP, self.tokens + passed * CAP)
        self.requests = min(REQUESTS, self.requests + passed * REQUESTS)
        self.at = now

    def call(self, now: float, total: int) -> int | None:
        """Take *total*, or return the milliseconds until it would be taken."""
        self.advance(now)
        if self.requests >= 1 and self.tokens >= total:
            self.tokens -= total
            self.requests -= 1
            return None
        self.refused += 1
        lack = max((total - self.tokens) / CAP, (1 - self.requests) / REQUESTS)
        return max(500, math.ceil(lack * MINUTE_MS))

    def shows(self) -> list[WindowReading]:
        return [
            WindowReading("tok", math.floor(self.tokens), CAP),
            WindowReading("req", math.floor(self.requests), REQUESTS),
        ]


@dataclass
class Agent:
    """Asks *STEPS* times, each time with more behind it."""

    context: int
    step: int = 0
    output: int | None = None
    lease: str = ""
    tag: float | None = None


@dataclass
class Run:
    """One run of all agents against one provider, in virtual time."""

    seed: int
    drain: float
    now: int = 0
    provider: Provider = field(default_factory=Provider)
    outputs: list[int] = field(default_factory=list)
    events: list[tuple[int, int, str, int, Sequence[WindowReading]]] = field(default_factory=list)
    count: int = 0

    def at(self, ms: float, what: str, agent: int, told: Sequence[WindowReading] = ()) -> None:
        self.count += 1
        heapq.heappush(self.events, (self.now + math.ceil(ms), self.count, what, agent, told))

    def bound(self) -> int:
        """Return what 98 of 100 outputs do not exceed, as far as was seen."""
        if len(self.outputs) < 20:
            return MOST_OUTPUT
        seen = sorted(self.outputs[-200:])
        return seen[min(len(seen) - 1, math.ceil(0.98 * (len(seen) + 1)) - 1)]

    async def play(self) -> int:
        """Return how often the provider refused until all were done."""
        dice = random.Random(self.seed)
        ledger = MemoryLedger(lambda: self.now)
        await ledger.define("up", WINDOWS)
        agents = [Agent(dice.randint(700, 1800)) for _ in range(AGENTS)]
        for number in range(AGENTS):
            self.at(dice.random() * 1000, "want", number)
        if self.drain:
            self.at(dice.uniform(1000, 4000), "others", -1)
        done = 0
        while done < AGENTS:
            self.now, _, what, number, told = heapq.heappop(self.events)
            if what == "others":
                self.provider.advance(self.now)
                wanted = self.drain * CAP / 60 * 2.5
                self.provider.tokens -= min(self.provider.tokens, wanted)
                self.at(dice.uniform(1000, 4000), "others", -1)
                continue
            agent = agents[number]
            if what in {"want", "check"}:
                await self._ask(ledger, number, agent, dice)
            elif what == "told":
                ledger.tell("up", agent.lease, told)
            elif what == "ended":
                self._end(ledger, number, agent, told)
                done += agent.step == STEPS
        return self.provider.refused

    async def _ask(
        self, ledger: MemoryLedger, number: int, agent: Agent, dice: random.Random
    ) -> None:
        if agent.output is None:
            agent.output = min(MOST_OUTPUT, max(10, int(dice.lognormvariate(4.6, 0.9))))
        needs = {"tok": agent.context + 40 + self.bound(), "req": 1}
        if not agent.lease:
            agent.lease = f"{number}-{self.count}"
            place = Place(tag=agent.tag)
            answer = await ledger.admit("up", Entry((Ask(agent.lease, needs),), place))
        else:
            answer = await ledger.check("up", agent.lease)
        if isinstance(answer, Waiting):
            self.at(min(1000, answer.eta_ms or 1000), "check", number)
            return
        assert isinstance(answer, Granted)
        agent.tag = answer.tag
        ledger.dispatch("up", [agent.lease])
        wait = self.provider.call(self.now, agent.context + 40 + agent.output)
        if wait is None:
            shown = self.provider.shows()
            self.at(300, "told", number, shown)
            self.at(600 + agent.output * 2.5, "ended", number, shown)
        else:
            ledger.reject("up", Refusal(agent.lease, "tok", wait))
            agent.lease = ""
            self.at(wait, "want", number)

    def _end(
        self, ledger: MemoryLedger, number: int, agent: Agent, told: Sequence[WindowReading]
    ) -> None:
        assert agent.output is not None
        used = agent.context + 40 + agent.output
        ledger.settle("up", Settlement(agent.lease, {"tok": used}, told))
        self.outputs.append(agent.output)
        agent.context += 40 + agent.output
        agent.step, agent.output, agent.lease, agent.tag = agent.step + 1, None, "", None
        if agent.step < STEPS:
            self.at(50, "want", number)


@pytest.mark.parametrize(("drain", "most"), [(0.0, 0.5), (0.25, 2.0)])
async def test_sixteen_agents_are_hardly_ever_refused(drain: float, most: float) -> None:
    refusals = [await Run(seed, drain).play() for seed in range(2)]
    assert sum(refusals) / len(refusals) <= most
