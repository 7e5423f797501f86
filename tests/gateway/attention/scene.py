"""People to ask and a board to ask them on, in virtual time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import anyio
from prometheus_client import CollectorRegistry

from gateway.attention.asking import Asking
from gateway.attention.attending import Attending
from gateway.attention.board import Asker, Board, Question
from gateway.attention.memory import MemoryApprovals
from gateway.attention.persons import Person, Persons
from gateway.attention.questions import SECOND, Approval, ApprovalStore, Decision
from gateway.attention.quota import Meter, Quota
from gateway.attention.webhooks import WebhookPolicy, Webhooks
from gateway.metering.meters.attention import AttentionCounts
from gateway.policy.keys import digest
from gateway.stores.memory import MemoryLedger

EPOCH = 1_764_000_000 * SECOND
APP = Asker("key:app", "app")
OTHER = Asker("key:other", "other")
YES = Decision("approved", 0)


def clock() -> int:
    """Return the virtual time in microseconds since the epoch."""
    return EPOCH + round(anyio.current_time() * SECOND)


def person(name: str = "ana", asks: int = 3, **fields: Any) -> Person:
    quota = Quota(f"person:{name}", f"person:{name}", "asks", asks, 3_600_000)
    return Person(name, quota, **fields)


def approval(name: str = "a", **fields: Any) -> Approval:
    """Return a question; a field that is not said is that of an ordinary one."""
    usual = Approval(
        id=name,
        hash=f"hash-{name}",
        tenant="key:app",
        key="app",
        person="ana",
        kind="question",
        question="Deploy?",
        detail="",
        options=("now", "later"),
        urgent=False,
        created_at=EPOCH,
        expires_at=EPOCH + 86_400 * SECOND,
    )
    return replace(usual, **fields)


@dataclass
class Scene:
    """A board over *store*; each has a ledger of its own, as after a restart."""

    persons: tuple[Person, ...] = field(default_factory=lambda: (person(),))
    store: ApprovalStore = field(default_factory=MemoryApprovals)
    policy: WebhookPolicy = field(default_factory=WebhookPolicy)

    def __post_init__(self) -> None:
        self.ana = self.persons[0]
        known = Persons("s", [(digest("s", f"{it.name}-token"), it) for it in self.persons])
        meter = Meter(MemoryLedger(lambda: round(anyio.current_time() * 1000)))
        self.registry = CollectorRegistry()
        counts = AttentionCounts(self.registry, ())
        self.board = Board(known, Attending(self.store, meter, clock), counts)
        self.asking = Asking(self.board, Webhooks(self.board, self.policy))

    async def ask(self, question: str, asker: Asker = APP, **fields: Any) -> Approval:
        """Ask something, and let it be asked if it can be."""
        made = await self.board.ask(asker, Question("ana", question, **fields))
        await self.asking.beat()
        return await self.board.one(made.id, asker)

    async def asked(self) -> list[set[str]]:
        """Return what was asked together, in order."""
        found = await self.board.listed(self.ana, None, 1000)
        asks = sorted({(it.asked_at, it.ask) for it in found if it.ask is not None})
        return [{it.question for it in found if it.ask == ask} for _, ask in asks]

    def count(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, labels)
