"""Decides how a conversation that is too long is cut, and cuts it."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from anyio import to_thread

from gateway.context.case import Case, Writer
from gateway.context.cut import NOTHING, Cut, applied, cleared, parted
from gateway.context.measure import CHARACTERS, Measure, least_counted
from gateway.context.memory import Begun, Remembered, remembered
from gateway.context.pins import pinned
from gateway.context.rules import Method, OnWall
from gateway.context.slimmer import Slimmer
from gateway.context.summary import ROLE, Brief, most_of
from gateway.context.turns import boundaries, staying, turn_of
from gateway.context.worth import Deal, Habit, gain
from gateway.metering.ledger import CallFinished, ContextSlimmed, SummaryTried
from techniques.core.channel import ask
from techniques.core.errors import DeadlinePassed, GatewayError, RequestRejected
from techniques.core.events import Warned
from techniques.core.reply import Reply
from techniques.core.request import Message, Request

EVERY: Final = 4
"""Turns that a conversation goes on before it is cut anew, where it need not be."""
_LADDER: Final[Mapping[OnWall, tuple[Method, ...]]] = {
    "off": (),
    "refuse": (),
    "drop_tool_results": ("drop_tool_results",),
    "summarise": ("summarise", "drop_tool_results", "truncate"),
    "truncate": ("drop_tool_results", "truncate"),
}
_EARLY: Final = ("drop_tool_results", "summarise")
"""Whose first step is taken from ``Rules.at`` on; all others where nothing else fits."""
_SHORT: Final = 400
"""Tokens that are not worth a summary."""
_BESIDE: Final = 800
"""Tokens, about, of what a writer is told beside what it is to sum up."""


class Slimming:
    """What is done to the one conversation of a request."""

    def __init__(self, slimmer: Slimmer, case: Case) -> None:
        self._slimmer = slimmer
        self._case = case
        self._habit: Habit = slimmer.habit(case.whose, case.model, case.use)

    async def slim(self, request: Request) -> Request:
        """Return *request* with a conversation that fits, as it is where that fits.

        Raises:
            RequestRejected: It cannot be made to fit by the rules.
            DeadlinePassed: The time was over before a summary was there.
        """
        if self._case.rules.on_wall == "off":
            return request
        work, known = _Work(self._slimmer, self._case, request, self._habit), self._case.recall()
        if known is not None:  # a run that goes on asks as it did, whatever is known here
            return work.again(remembered(known))
        slim = await work.done()
        self._case.keep(work.known.written())
        return slim

    def learn(self, request: Request, rows: Iterable[CallFinished]) -> None:
        """Take in what the calls of *rows* were counted with, that were made for *request*."""
        told = [
            row for row in rows if row.role != ROLE and row.outcome == "ok" and not row.estimated
        ]
        read = sum(row.usage.input_tokens for row in told)
        counted = least_counted(told)
        if not read or not counted:
            return
        cached = sum(row.usage.cache_read_tokens for row in told)
        ratio = Measure(request).ratio_to(counted)
        self._habit.learn(cached / read, read / counted, ratio)


class _Work:
    """One conversation while it is cut."""

    def __init__(self, slimmer: Slimmer, case: Case, request: Request, habit: Habit) -> None:
        self._slimmer = slimmer
        self._case = case
        self._request = request
        self._habit = habit
        self._measure = Measure(request, habit.ratio)
        self._spoken = parted(request.messages)
        self._turn = turn_of(self._spoken)
        self._wall = self._measure.room(case.window, case.output)
        self._goal = min(round(case.rules.at * case.window), self._wall)
        self._before = self._measure.tokens(request.messages)
        self._sizes: dict[Cut, int] = {}
        self._stay: frozenset[int] = frozenset()
        self.known = Remembered()
        self._tried = False
        self._cut_anew = False

    def again(self, known: Remembered) -> Request:
        """Return the request slimmed as it was."""
        self.known, self._stay = known, staying(self._spoken, self._case.pins)
        if known.cut != NOTHING:
            begun = Begun(self._case.whose, self._spoken)
            self._slimmer.memory.keep(begun, known.cut.reach, known)
        return self._told()

    async def done(self) -> Request:
        """Return the request, slimmed where it must be; ``known`` is then how."""
        case, request = self._case, self._request
        self._slimmer.ways.reach(case.whose, self._turn)
        early = case.rules.on_wall in _EARLY
        if self._before <= (self._goal if early else self._wall):
            return request
        self._stay = staying(self._spoken, case.pins)
        begun = Begun(case.whose, self._spoken)
        self.known = self._slimmer.memory.find(begun)
        ends = boundaries(self._spoken, case.rules.keep_last)
        for place, way in enumerate(_LADDER[case.rules.on_wall]):
            soft = early and place == 0
            if self._size(self.known.cut) > (self._goal if soft else self._wall) and ends:
                await self._try(way, ends)
        self._must_fit(self.known.cut)
        if self._tried:
            reach = max(self.known.cut.reach, ends[-1])
            self._slimmer.memory.keep(begun, reach, self.known)
        return self._told()

    async def _try(self, way: Method, ends: Sequence[int]) -> None:
        """Cut by *way* where there is reason to, and make that the cut that is known."""
        cut = self.known.cut
        found: Cut | None
        match way:
            case "summarise":
                found = await self._summarised(cut, ends[-1]) if self._is_due() else None
            case "drop_tool_results":
                found = self._dropped(cut, ends[-1])
            case _:
                found = self._truncated(cut, ends)
        if found is not None and self._size(found) < self._size(cut):
            self.known = Remembered(found, way, self._turn)
            self._tried = self._cut_anew = True

    def _is_due(self) -> bool:
        last = self.known.turn
        return last is None or self._turn - last >= EVERY

    def _dropped(self, cut: Cut, end: int) -> Cut | None:
        found = replace(cut, cleared=max(end, cut.cleared))
        if self._size(cut) > self._wall:
            return found
        deal = self._deal(self._size(cut) - self._size(found), end)
        return found if self._is_due() and gain(deal, self._case.price) > 0 else None

    def _truncated(self, cut: Cut, ends: Sequence[int]) -> Cut:
        """Return the least cut after which the conversation is as long as it should be."""

        def at(end: int) -> Cut:
            more = len(set(range(cut.removed, end)) - self._stay)
            return replace(cut, removed=end, lost=cut.lost + more) if more else cut

        place = bisect_left(ends, 1, key=lambda end: int(self._size(at(end)) <= self._goal))
        return at(ends[min(place, len(ends) - 1)])

    async def _summarised(self, cut: Cut, end: int) -> Cut | None:
        writer, old = self._case.writer, applied(cut, self._spoken[:end], self._stay)
        tokens = self._measure.tokens(old)
        if writer is None or end <= cut.removed or tokens < _SHORT:
            return None
        shown = self._readable(old, tokens, writer)
        if shown is None or not self._pays(tokens, self._measure.tokens(shown), writer, end):
            self._note_summary("not_worth")
            return None
        room = CHARACTERS * most_of(tokens)
        pins = await to_thread.run_sync(pinned, old, self._spoken[end:], room)
        brief = Brief(shown, tokens, pins, self._case.fence)
        self.known, self._tried = replace(self.known, turn=self._turn), True
        reply = await self._written(brief, writer)
        if reply is None:
            return None
        found = Cut(removed=end, note=brief.note(reply))
        fault = brief.fault(reply) or ("longer" if self._is_longer(found, brief, reply) else None)
        self._note_summary(fault or "used")
        if fault is None:
            return found
        self._case.record(Warned("summary_rejected", fault))
        return None

    async def _written(self, brief: Brief, writer: Writer) -> Reply | None:
        """Return what *writer* makes of *brief*, None where it could not be asked."""
        try:
            return await ask(writer.member, brief.request(writer.member.model))
        except DeadlinePassed:
            raise
        except GatewayError as error:  # the conversation goes on without
            self._case.record(Warned("summary_failed", error.code))
            self._note_summary("failed")
            return None

    def _readable(
        self, old: Sequence[Message], tokens: int, writer: Writer
    ) -> Sequence[Message] | None:
        """Return what *writer* is shown of *old*: without results of tools where it is too long."""
        most = (writer.window or sys.maxsize) - _BESIDE - most_of(tokens)
        for shown in (old, tuple(map(cleared, old))):
            if self._measure.tokens(shown) <= most:
                return shown
        return None

    def _pays(self, tokens: int, shown: int, writer: Writer, end: int) -> bool:
        """Tell whether a summary leaves a call for the answer, and is worth it."""
        if self._case.affordable(2) < 2:
            return False
        most = most_of(tokens)
        deal = replace(self._deal(tokens - most, end), read=shown + _BESIDE, written=most)
        return gain(deal, self._case.price, writer.price) > 0

    def _deal(self, saved: int, end: int) -> Deal:
        return Deal(
            saved=saved,
            kept=self._measure.tokens(self._spoken[end:]),
            turns=self._slimmer.ways.ahead(self._case.whose, self._turn),
            sent=self._habit.sent,
            cached=self._habit.cached,
        )

    def _is_longer(self, found: Cut, brief: Brief, reply: Reply) -> bool:
        """Tell whether *found* does not shorten, by our count or by that of the provider."""
        if self._size(found) >= self._size(self.known.cut):
            return True
        usage = reply.usage
        if usage is None or not usage.input_tokens:
            return False
        written = usage.output_tokens - usage.reasoning_tokens
        return written >= min(usage.input_tokens, brief.tokens)

    def _size(self, cut: Cut) -> int:
        if cut == NOTHING:
            return self._before
        if cut not in self._sizes:
            self._sizes[cut] = self._measure.tokens(self._left(cut))
        return self._sizes[cut]

    def _left(self, cut: Cut) -> tuple[Message, ...]:
        return applied(cut, self._request.messages, self._stay)

    def _must_fit(self, cut: Cut) -> None:
        size = self._size(cut)
        if self._measure.surely(size) <= self._wall:
            return
        room, window = max(self._wall, 0), self._case.window
        raise RequestRejected(
            f"This conversation has about {size} tokens, and {room} of the model's window of "
            f"{window} are there for it.",
            code="context_length_exceeded",
            param="messages",
        )

    def _told(self) -> Request:
        """Return the request with what is left, and tell of it."""
        cut, case = self.known.cut, self._case
        if cut == NOTHING:
            return self._request
        messages = self._left(cut)
        after = self._size(cut)
        how = self.known.method or "truncate"
        case.record(
            ContextSlimmed(case.model, case.provider, how, self._before, after, self._cut_anew)
        )
        if cut.note:
            case.record(Warned("context_summarised", f"{cut.removed - cut.lost} messages"))
        if cut.lost:
            case.record(Warned("context_truncated", f"{cut.lost} messages"))
        if cut.cleared > cut.removed:
            case.record(Warned("tool_results_dropped", f"in {cut.cleared} messages"))
        return replace(self._request, messages=messages)

    def _note_summary(self, outcome: str) -> None:
        self._case.record(SummaryTried(self._case.model, self._case.provider, outcome))
