"""Questions to people, from being asked to being decided: the rules, over what keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import Final

import anyio

from gateway.attention.attending import Attending, Verdict
from gateway.attention.persons import Person, Persons
from gateway.attention.questions import (
    SECOND,
    Absence,
    Approval,
    Decision,
    Kind,
    Sought,
    State,
    hash_of,
)
from gateway.clock import loop_time
from gateway.metering.meters.attention import AttentionCounts
from gateway.stores.database.records import NotThere, Taken
from techniques.core.errors import Denied, KeyLimited, RequestRejected

_MOST_PENDING: Final = 1000
_LOOK_S: Final = 1.0
"""How often who waits looks for itself: another replica may have taken the decision."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks: a key's name, None where the gateway is open, and the pool of its tenant."""

    tenant: str
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of whom. An ``urgent`` one does not wait for the next digest."""

    person: str
    question: str
    kind: Kind = "question"
    detail: str = ""
    options: tuple[str, ...] = ()
    urgent: bool = False
    expires_s: float | None = None


class Board:
    """One for the process.

    A question stands for *expires_s* where it does not say for how long.
    """

    def __init__(
        self,
        persons: Persons,
        attending: Attending,
        counts: AttentionCounts,
        *,
        expires_s: float = 86_400.0,
    ) -> None:
        self.store = attending.store
        self.clock = attending.clock
        self.persons = persons
        self.attending = attending
        self.counts = counts
        self._expires_s = expires_s
        self.asking = anyio.Lock()  # else one sees a meter used up by who has not asked yet
        self.stirred = anyio.Event()
        """Set, and replaced, when anything has changed."""

    async def ask(self, asker: Asker, asked: Question) -> Approval:
        """Keep a question; who asks people will come to it.

        Raises:
            RequestRejected: There is no such person.
            KeyLimited: Too many questions of this tenant are open.
            DatabaseLost: It cannot be kept.
        """
        if self.persons.named(asked.person) is None:
            message = f"There is nobody called {asked.person!r}."
            raise RequestRejected(message, code="invalid_value", param="person")
        now = self.clock()
        if await self.store.count_pending(asker.tenant, now) >= _MOST_PENDING:
            raise KeyLimited("Too many questions of this key are open.")
        said = (asked.kind, asked.question, asked.detail, asked.options)
        expires_s = self._expires_s if asked.expires_s is None else asked.expires_s
        approval = Approval(
            id=f"ap_{token_hex(12)}",
            hash=hash_of(asker.tenant, asked.person, *said),
            tenant=asker.tenant,
            key=asker.key,
            person=asked.person,
            kind=asked.kind,
            question=asked.question,
            detail=asked.detail,
            options=asked.options,
            urgent=asked.urgent,
            created_at=now,
            expires_at=now + round(expires_s * SECOND),
        )
        await self.store.add(approval)
        self.counts.approval(approval.kind, "pending")
        self.stir()
        return approval

    async def one(self, name: str, viewer: Asker | Person, wait_s: float = 0.0) -> Approval:
        """Return a question as it is, once it has ended or after *wait_s*.

        Raises:
            NotThere: There is none of that id, or it is none of the viewer's business.
            DatabaseLost: It cannot be read.
        """
        until = loop_time() + wait_s
        while True:
            stirred = self.stirred
            found = await self.store.get(name)
            if found is None or not _concerns(found, viewer):
                raise NotThere(f"There is no question {name!r}.")
            found = found.at(self.clock())
            left_s = until - loop_time()
            if found.state != "pending" or left_s <= 0:
                return found
            ends_s = (found.expires_at - self.clock()) / SECOND
            with anyio.move_on_after(min(left_s, max(ends_s, 0.001), _LOOK_S)):
                await stirred.wait()

    async def listed(
        self, viewer: Asker | Person, state: State | None, limit: int, wait_s: float = 0.0
    ) -> Sequence[Approval]:
        """Return the viewer's questions, latest first; a person sees identical ones once.

        A person who waits for some that are pending waits until they are asked one.

        Raises:
            DatabaseLost: They cannot be read.
        """
        is_person = isinstance(viewer, Person)
        sought = Sought(
            person=viewer.name if isinstance(viewer, Person) else None,
            tenant=None if isinstance(viewer, Person) else viewer.tenant,
            state=state,
            limit=limit,
        )
        until = loop_time() + wait_s
        while True:
            stirred = self.stirred
            found = await self.store.find(sought, self.clock())
            left_s = until - loop_time()
            if left_s <= 0 or any(it.asked_at is not None or not is_person for it in found):
                return _each_once(found) if is_person else found
            with anyio.move_on_after(min(left_s, _LOOK_S)):
                await stirred.wait()

    async def decide(self, person: Person, name: str, decision: Decision) -> Approval:
        """Decide a question, and all that are identical and pending.

        Raises:
            NotThere: There is none of that id for this person.
            Taken: It has ended already.
            RequestRejected: It has options, and the decision is none of them.
            DatabaseLost: It cannot be written.
        """
        asked = await self.one(name, person)
        if (why := asked.unfit(decision)) is not None:
            raise RequestRejected(why, code="invalid_value", param="option")
        decided = await self.store.decide(asked.hash, decision)
        if not any(it.id == name for it in decided):
            raise Taken(f"It is {(await self.one(name, person)).state} already.")
        for it in decided:
            self.counts.approval(it.kind, it.state, (decision.at - it.created_at) / SECOND)
        self.stir()
        return await self.one(name, person)

    async def withdraw(self, asker: Asker, name: str) -> Approval:
        """Take a question back.

        Raises:
            NotThere: There is none of that id of this tenant.
            Taken: It has ended already.
            DatabaseLost: It cannot be written.
        """
        asked = await self.one(name, asker)
        if not await self.store.withdraw(name, self.clock()):
            raise Taken(f"It is {(await self.one(name, asker)).state} already.")
        self.counts.approval(asked.kind, "withdrawn")
        self.stir()
        return await self.one(name, asker)

    async def be_away(self, person: Person, until: int | None) -> Verdict:
        """Ask *person* nothing until then, None: until they are available.

        Raises:
            RequestRejected: That has passed.
            DatabaseLost: It cannot be written.
        """
        now = self.clock()
        if until is not None and until <= now:
            message = "until must be in the future."
            raise RequestRejected(message, code="invalid_value", param="until")
        await self.store.set_absence(person.name, Absence(person.name, now, until))
        return await self.attending.verdict(person)

    async def be_available(self, person: Person) -> Verdict:
        """Ask *person* again, as often as they are asked.

        Raises:
            DatabaseLost: It cannot be written.
        """
        await self.store.set_absence(person.name, None)
        self.stir()
        return await self.attending.verdict(person)

    def must_be_person(self, person: Person | None) -> Person:
        """Return *person*: only somebody who is known by a token of their own may decide.

        Raises:
            Denied: It is nobody.
        """
        if person is None:
            raise Denied("A key cannot do this: it takes the token of the person who is asked.")
        return person

    def stir(self) -> None:
        """Wake who waits for something to come, to be asked or to be decided."""
        self.stirred.set()
        self.stirred = anyio.Event()


def _concerns(approval: Approval, viewer: Asker | Person) -> bool:
    if isinstance(viewer, Person):
        return approval.person == viewer.name
    return approval.tenant == viewer.tenant


def _each_once(found: Sequence[Approval]) -> list[Approval]:
    """Return one of each that are identical and in the same state."""
    once: dict[tuple[str, State, int | None], Approval] = {}
    for it in found:
        once.setdefault((it.hash, it.state, it.decided_at), it)
    return list(once.values())
