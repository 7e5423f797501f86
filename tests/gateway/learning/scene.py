"""A gateway over simulated models, and what is told of what it learns."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio

from gateway.app import CHAT
from gateway.channels.overheard import Heard
from gateway.config import Config, Secrets
from gateway.learning.counts import Kind, Result
from gateway.learning.learnt import Answered
from gateway.learning.running import Laboratory
from gateway.metering.ledger import Fact, RequestFinished
from gateway.policy.models import Model
from gateway.wire.dialect import Call
from gateway.wiring import Parts, running
from router_service.contract import Features, Feedback, Observation

QUESTION = "What is 17 * 23?"
ARMS = (
    *("none", "self_consistency/3", "self_consistency/5", "best_of_n/3", "harq_ir/2"),
    *("none/-/sim-large", "none/-/primary/high", "cascade"),
)
SIMULATED = {"simulated": {"dialect": "openai_chat", "simulated": {"speed": 1000}}}


@asynccontextmanager
async def gateway(**sections: Any) -> AsyncGenerator[Parts, None]:
    config = Config.model_validate(
        {
            "providers": SIMULATED,
            "models": [
                {"name": "sim-small", "provider": "simulated"},
                {"name": "sim-large", "provider": "simulated"},
            ],
            "database": {"url": "none"},
            **sections,
        }
    )
    async with running(config, Secrets("s", "admin")) as parts:
        yield parts


def asked(text: str = QUESTION, model: str = "sim-small") -> Call:
    turns = [{"role": "user", "content": text}]
    return CHAT.decode({"model": model, "messages": turns, "seed": 3}, b"")


@dataclass
class Facts:
    """A meter that keeps what it is told."""

    facts: list[Fact] = field(default_factory=list)

    def __call__(self, fact: Fact) -> None:
        self.facts.append(fact)

    @property
    def finished(self) -> list[RequestFinished]:
        return [fact for fact in self.facts if isinstance(fact, RequestFinished)]


@dataclass
class Kept:
    """Observations that are kept in a list."""

    rows: list[Observation] = field(default_factory=list)
    said: list[Feedback] = field(default_factory=list)

    async def observe(self, rows: Sequence[Observation]) -> None:
        self.rows += rows

    async def feedback(self, said: Feedback) -> bool:
        self.said.append(said)
        return True

    async def forget(self, caller: str) -> int:
        return 0


@dataclass
class Counted:
    """What was counted."""

    results: Counter[tuple[Kind, Result]] = field(default_factory=Counter)
    usd: float = 0.0
    changed: anyio.Event = field(default_factory=anyio.Event)

    def studied(self, kind: Kind, result: Result, usd: float = 0.0) -> None:
        self.results[kind, result] += 1
        self.usd += usd
        self.changed.set()

    async def until(self, count: int) -> None:
        """Wait until so many were counted."""
        with anyio.fail_after(8):
            while self.results.total() < count:
                self.changed = anyio.Event()
                await self.changed.wait()


def observation(arm: str = "none") -> Observation:
    features = Features(kind="number")
    return Observation(
        id="r1", request_id="r1", at=5.0, model="sim-small", arm=arm, features=features
    )


@dataclass
class Scene:
    """A laboratory and the models in it."""

    parts: Parts
    facts: Facts = field(default_factory=Facts)

    @property
    def laboratory(self) -> Laboratory:
        return Laboratory(lambda: self.parts.front.pipeline, (self.facts,))

    def model(self, name: str) -> Model:
        return self.parts.catalogue.find(name)

    def answered(self, arm: str = "none", heard: Heard | None = None, **more: Any) -> Answered:
        given = {"judge": self.model("sim-large"), "pool": (self.model("sim-large"),), **more}
        return Answered(
            asked(), self.model("sim-small"), observation(arm), heard, arms=ARMS, **given
        )
