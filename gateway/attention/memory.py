"""Questions kept in this process, where there is no database: they end with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from gateway.attention.questions import Absence, Approval, Ask, Decision, Sought

_MOST: Final = 10_000


class MemoryApprovals:
    """See ``ApprovalStore``. Beyond 10,000 questions the oldest that have ended are dropped."""

    def __init__(self) -> None:
        self._approvals: dict[str, Approval] = {}
        self._asks: dict[str, Ask] = {}
        self._absences: dict[str, Absence] = {}

    async def add(self, approval: Approval) -> None:
        """See ``ApprovalStore``."""
        same = self._pending(approval.created_at, lambda it: it.hash == approval.hash)
        asked = next((it for it in same if it.ask is not None), None)
        if asked is not None:
            approval = replace(approval, ask=asked.ask, asked_at=asked.asked_at)
        self._make_room()
        self._approvals[approval.id] = approval

    async def get(self, name: str) -> Approval | None:
        """See ``ApprovalStore``."""
        return self._approvals.get(name)

    async def find(self, sought: Sought, now: int) -> list[Approval]:
        """See ``ApprovalStore``."""
        found = [
            it
            for it in (kept.at(now) for kept in reversed(self._approvals.values()))
            if sought.person in {None, it.person}
            and sought.tenant in {None, it.tenant}
            and sought.state in {None, it.state}
        ]
        return found[: sought.limit]

    async def count_pending(self, tenant: str, now: int) -> int:
        """See ``ApprovalStore``."""
        return len(self._pending(now, lambda it: it.tenant == tenant))

    async def decide(self, question: str, decision: Decision) -> list[Approval]:
        """See ``ApprovalStore``."""
        return [
            self._change(
                replace(
                    it,
                    state=decision.state,
                    decided_at=decision.at,
                    option=decision.option,
                    note=decision.note,
                )
            )
            for it in self._pending(decision.at, lambda it: it.hash == question)
        ]

    async def withdraw(self, name: str, now: int) -> bool:
        """See ``ApprovalStore``."""
        pending = self._pending(now, lambda it: it.id == name)
        for it in pending:
            self._change(replace(it, state="withdrawn", decided_at=now))
        return bool(pending)

    async def expire(self, now: int) -> list[Approval]:
        """See ``ApprovalStore``."""
        late = [it for it in self._approvals.values() if it.at(now) is not it]
        return [self._change(replace(it.at(now), decided_at=it.expires_at)) for it in late]

    async def waiting(self, now: int) -> list[Approval]:
        """See ``ApprovalStore``."""
        waiting = self._pending(now, lambda it: it.ask is None)
        return sorted(waiting, key=lambda it: (it.created_at, it.id))

    async def begin(self, ask: Ask, questions: Sequence[str]) -> bool:
        """See ``ApprovalStore``."""
        waiting = self._pending(
            ask.asked_at, lambda it: it.ask is None and it.hash in set(questions)
        )
        for it in waiting:
            self._change(replace(it, ask=ask.id, asked_at=ask.asked_at))
        if waiting:
            self._asks[ask.id] = ask
        return bool(waiting)

    async def asked_since(self, person: str, since: int) -> list[int]:
        """See ``ApprovalStore``."""
        asks = self._asks.values()
        return [it.asked_at for it in asks if it.person == person and it.asked_at > since]

    async def of_ask(self, ask: str, now: int) -> list[Approval]:
        """See ``ApprovalStore``."""
        return self._pending(now, lambda it: it.ask == ask)

    async def due(self, now: int) -> list[Ask]:
        """See ``ApprovalStore``."""
        return [it for it in self._asks.values() if it.due_at is not None and it.due_at <= now]

    async def attempt(self, ask: Ask, due_at: int | None) -> bool:
        """See ``ApprovalStore``."""
        kept = self._asks.get(ask.id)
        if kept is None or kept.attempts != ask.attempts or kept.delivered_at is not None:
            return False
        self._asks[ask.id] = replace(kept, attempts=kept.attempts + 1, due_at=due_at)
        return True

    async def put_off(self, ask: str, due_at: int) -> None:
        """See ``ApprovalStore``."""
        self._asks[ask] = replace(self._asks[ask], due_at=due_at)

    async def delivered(self, ask: str, now: int) -> None:
        """See ``ApprovalStore``."""
        self._asks[ask] = replace(self._asks[ask], due_at=None, delivered_at=now)

    async def set_absence(self, person: str, absence: Absence | None) -> None:
        """See ``ApprovalStore``."""
        if absence is None:
            self._absences.pop(person, None)
        else:
            self._absences[person] = absence

    async def absence(self, person: str) -> Absence | None:
        """See ``ApprovalStore``."""
        return self._absences.get(person)

    async def forget(self, before: int) -> None:
        """See ``ApprovalStore``."""
        for it in list(self._approvals.values()):
            if it.state != "pending" and (it.decided_at or it.expires_at) < before:
                del self._approvals[it.id]
        for ask in list(self._asks.values()):
            if ask.asked_at < before:
                del self._asks[ask.id]

    def _pending(self, now: int, fits: Callable[[Approval], bool]) -> list[Approval]:
        kept = self._approvals.values()
        return [it for it in kept if it.at(now).state == "pending" and fits(it)]

    def _change(self, approval: Approval) -> Approval:
        self._approvals[approval.id] = approval
        return approval

    def _make_room(self) -> None:
        if len(self._approvals) >= _MOST:
            ended = next((n for n, it in self._approvals.items() if it.state != "pending"), None)
            del self._approvals[ended or next(iter(self._approvals))]
