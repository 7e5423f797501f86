"""Counts the tool calls in an answer against the quotas of tools, and acts where one is used up."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

from gateway.admission.verdict import Patience
from gateway.attention.quota import Taken
from gateway.attention.seen import Call, Seen
from gateway.attention.tools import ToolQuotas
from gateway.clock import loop_time
from gateway.metering.ledger import Ledger, ToolCalled, ToolOutcome
from gateway.policy.keys import Caller
from gateway.stores.ledger import StoreLost
from techniques.core.channel import EventStream
from techniques.core.errors import KeyLimited, Unavailable
from techniques.core.events import Event


@dataclass(slots=True)
class Turn:
    """One answer, whose it is, and how long it may be kept back.

    ``came`` is a time of ``anyio.current_time``.
    """

    quotas: ToolQuotas
    caller: Caller
    ledger: Ledger
    patience: Patience
    streamed: bool
    came: float = field(default_factory=loop_time)
    taken: list[tuple[str, Taken]] = field(default_factory=list)

    @asynccontextmanager
    async def over(self, answer: EventStream) -> AsyncGenerator[AsyncIterator[Event], None]:
        """Give the events of *answer*, each after what it calls was counted.

        Raises:
            KeyLimited: A quota is used up, and the turn is not given then.
            Unavailable: Quotas cannot be told now, and turns are not given without them.
        """
        try:
            async with answer as events, aclosing(self._counted(events)) as counted:
                yield counted
        finally:
            for tool, taken in self.taken:
                self.quotas.spend(self.caller, tool, taken)

    async def _counted(self, events: AsyncIterator[Event]) -> AsyncGenerator[Event, None]:
        seen = Seen(streamed=self.streamed)
        async for event in events:
            for call in seen.feed(event):
                await self._count(call)
            yield event

    async def _count(self, call: Call) -> None:
        quotas = self.quotas
        try:
            taken = await quotas.acquire(self.caller, call.tool, call_id=call.id)
            if taken is None:
                return
            if not taken.granted and quotas.action == "hold_result":
                taken = await self._held(call, taken)
        except StoreLost as lost:
            if quotas.action == "annotate":
                self._note(call, "unknown", 0)
                return
            raise Unavailable("Quotas of tools cannot be told now.", code="store_lost") from lost
        if taken.granted:
            self.taken.append((call.tool, taken))
            self._note(call, "counted", taken.left)
        elif quotas.action == "annotate":
            self._note(call, "over", 0, taken.wait_ms)
        else:
            self._refuse(call, taken)

    async def _held(self, call: Call, first: Taken) -> Taken:
        """Keep the turn back until *call* may be made, if it may be kept back so long."""
        left_s = self.patience.longest_s() - (loop_time() - self.came)
        if self.patience.on_limit != "hold" or first.wait_ms > 1000 * left_s:
            return first
        holds, name = self.ledger.holds, f"tool:{call.tool}:{call.id}"
        holds.hold(name, first.wait_ms, 0, "tool", of=(call.tool, ""))
        try:
            taken = await self.quotas.acquire(
                self.caller, call.tool, patience_s=left_s, call_id=call.id
            )
        finally:
            holds.release(name)
        return taken or first

    def _refuse(self, call: Call, taken: Taken) -> None:
        """Give no turn: what was counted of it comes back.

        Raises:
            KeyLimited: Always.
        """
        for tool, one in self.taken:
            self.quotas.give_back(self.caller, tool, one)
        self.taken.clear()
        self._note(call, "refused", 0, taken.wait_ms)
        raise KeyLimited(
            f"The model calls the tool {call.tool}, and its quota is used up.",
            code="tool_quota_exhausted",
            retry_after=taken.wait_ms / 1000,
        )

    def _note(self, call: Call, outcome: ToolOutcome, left: int, wait_ms: int = 0) -> None:
        self.ledger.record(ToolCalled(call.tool, outcome, left, wait_ms))
