"""What is asked of people, and what became of it. Instants are microseconds since the epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final, Literal, Protocol, TypeAlias

import orjson

Kind: TypeAlias = Literal["promotion", "ambiguous_retry", "spend", "loop", "question"]
"""What it is about: a rule that is to serve, a step that may have been paid, money above a
threshold, an agent that repeats itself, or whatever an agent asks."""

State: TypeAlias = Literal["pending", "approved", "rejected", "expired", "withdrawn"]

SECOND: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Approval:
    """One question of one asker to one person.

    Attributes:
        hash: That of the question: those that are pending with the same are asked and decided
            together.
        tenant: Whose it is: the pool of a key or of its team.
        key: The name of the key that asked, None where the gateway is open.
        ask: The ask that it was a part of, None while it waits to be asked.
        option: Which of the ``options`` was chosen.
    """

    id: str
    hash: str
    tenant: str
    key: str | None
    person: str
    kind: Kind
    question: str
    detail: str
    options: tuple[str, ...]
    urgent: bool
    created_at: int
    expires_at: int
    state: State = "pending"
    ask: str | None = None
    asked_at: int | None = None
    decided_at: int | None = None
    option: str | None = None
    note: str | None = None

    def at(self, now: int) -> Approval:
        """Return it as it is *now*: what nobody decided in time has expired."""
        late = self.state == "pending" and now >= self.expires_at
        return replace(self, state="expired") if late else self

    def unfit(self, decision: Decision) -> str | None:
        """Return why *decision* is no answer to it, None if it is one."""
        if decision.option is not None and decision.option not in self.options:
            return f"option must be one of {list(self.options)}."
        if decision.state == "approved" and self.options and decision.option is None:
            return f"This question has options: say which of {list(self.options)}."
        return None


@dataclass(frozen=True, slots=True)
class Ask:
    """One time that a person was asked, with one question or a digest of several.

    ``due_at`` is when their webhook is to be told next, None: not (any more).
    """

    id: str
    person: str
    asked_at: int
    attempts: int = 0
    due_at: int | None = None
    delivered_at: int | None = None


@dataclass(frozen=True, slots=True)
class Absence:
    """A person is away; ``until`` None: nobody knows for how long."""

    person: str
    since: int
    until: int | None = None

    def holds(self, now: int) -> bool:
        """Return whether they are away *now*."""
        return self.until is None or now < self.until


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided of a question."""

    state: Literal["approved", "rejected"]
    at: int
    option: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Sought:
    """Which questions are to be listed, the latest first; None: of all."""

    person: str | None = None
    tenant: str | None = None
    state: State | None = None
    limit: int = 100


def hash_of(tenant: str, person: str, *said: str | Sequence[str]) -> str:
    """Return what identical questions of one tenant to one person have in common."""
    return sha256(orjson.dumps([tenant, person, *said])).hexdigest()


class ApprovalStore(Protocol):
    """Where questions, asks and absences are kept. Each operation is atomic.

    All raise ``DatabaseLost`` where there is a database and it does not answer.
    """

    async def add(self, approval: Approval) -> None:
        """Keep a new question; it is part of the ask of an identical one that is pending."""
        ...

    async def get(self, name: str) -> Approval | None:
        """Return the question of that id."""
        ...

    async def find(self, sought: Sought, now: int) -> list[Approval]:
        """Return questions as they are *now*."""
        ...

    async def count_pending(self, tenant: str, now: int) -> int:
        """Return how many questions of a tenant are open."""
        ...

    async def decide(self, question: str, decision: Decision) -> list[Approval]:
        """Decide all pending questions of that hash; return them, none if there are none."""
        ...

    async def withdraw(self, name: str, now: int) -> bool:
        """Take a pending question back; False: it is not pending."""
        ...

    async def expire(self, now: int) -> list[Approval]:
        """Note which pending questions have expired, and return them; each is returned once."""
        ...

    async def waiting(self, now: int) -> list[Approval]:
        """Return the pending questions that were not asked yet, the oldest first."""
        ...

    async def begin(self, ask: Ask, questions: Sequence[str]) -> bool:
        """Ask the pending questions of these hashes; False: none waits any more."""
        ...

    async def asked_since(self, person: str, since: int) -> list[int]:
        """Return when *person* was asked after *since*."""
        ...

    async def of_ask(self, ask: str, now: int) -> list[Approval]:
        """Return the questions of an ask that are pending."""
        ...

    async def due(self, now: int) -> list[Ask]:
        """Return the asks of which webhooks are to be told."""
        ...

    async def attempt(self, ask: Ask, due_at: int | None) -> bool:
        """Begin to tell of *ask*; False: another has begun. It is due again at *due_at*."""
        ...

    async def put_off(self, ask: str, due_at: int) -> None:
        """Have *ask* told of again at *due_at*."""
        ...

    async def delivered(self, ask: str, now: int) -> None:
        """Note that *ask* was told of."""
        ...

    async def set_absence(self, person: str, absence: Absence | None) -> None:
        """Note that *person* is away, or with None that they are there."""
        ...

    async def absence(self, person: str) -> Absence | None:
        """Return the last absence of *person*, which may be over."""
        ...

    async def forget(self, before: int) -> None:
        """Drop questions that ended, and asks that were made, before that."""
        ...
