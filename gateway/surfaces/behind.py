"""Runs that nobody waits for: begun for a client that does not, gone on with, found and swept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, NamedTuple

import anyio
import structlog

from gateway.clock import utc_now
from gateway.metering.ledger import Ledger, Meter, RequestBegun
from gateway.metering.trace import Begin, untraced
from gateway.pipeline import Asked, Pipeline
from gateway.policy.keys import Caller, Door
from gateway.reasons import why_of
from gateway.routing.observing import Observer
from gateway.runs.book import RunBook
from gateway.runs.doubt import waits_for_word
from gateway.runs.floor import Carry
from gateway.runs.later import Later
from gateway.runs.terms import Ambiguous, Stop
from gateway.runs.wanted import Begun, Wanted
from gateway.stores.journal.journal import JournalLost
from gateway.stores.journal.records import RunName, Sent
from gateway.stores.journal.seal import JournalSealed
from gateway.surfaces import spelled
from gateway.surfaces.finishing import end, let_go
from gateway.surfaces.gate import Gate
from gateway.surfaces.kept import carry_of, wanted_by
from gateway.surfaces.named import new_name
from gateway.surfaces.unheard import Unheard
from gateway.surfaces.visit import Visit
from gateway.wire.body import parse
from gateway.wire.dialect import Dialect
from techniques.core.channel import EventStream
from techniques.core.errors import GatewayError, RequestRejected, Unavailable

_SWEEP_S: Final = 5.0
_SOON_S: Final = 0.25
"""After a sweep that has left some: an outage leaves hundreds."""
_LOOK_S: Final = 0.1
_AT_ONCE: Final = 20
_MOST_HERE: Final = 200
_MOST_HELD: Final = 20
"""So many runs that nobody waits for are at work here, and held at limits: more would only stand
in line, where others come."""

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Pressed:
    """How a run is to go on: although its plan has changed, and what of doubtful steps."""

    force: bool = False
    ambiguous: Ambiguous | None = None


class Swept(NamedTuple):
    """How many runs were found that are not to go on yet, and whether there may be more to do."""

    waiting: int = 0
    more: bool = False


@dataclass(frozen=True, slots=True)
class Behind:
    """Carries runs out that nobody waits for; in the midst of their calls no process ends."""

    door: Door
    pipeline: Pipeline
    meters: tuple[Meter, ...]
    runs: RunBook
    dialects: Mapping[str, Dialect]
    gate: Gate = field(default_factory=Gate)
    traced: Begin = untraced
    later: Later = field(default_factory=Later)
    """A configuration that has changed has its own, so that all are tried again at once."""
    observer: Observer | None = None
    unheard: Unheard | None = None
    """Keeps the answers of responses that nobody waits for."""

    def attend(self, current: Callable[[], Behind | None]) -> None:
        """Begin to look after runs that nobody waits for, by what is *current* at the moment."""
        self.runs.floor.beside(partial(sweeping, self.gate, current))
        self.runs.floor.beside(self.rest)

    async def begin(
        self, caller: Caller, sent: Sent, run: str | None, pressed: Pressed | None = None
    ) -> Begun:
        """Begin, or go on with, the run of *sent*, and return it; its answer is seen to.

        Raises:
            GatewayError: It cannot be carried out.
        """
        visit = await self._visit(caller, sent, run)
        pressed = pressed or Pressed()
        want = replace(
            wanted_by(visit, self.pipeline, sent.raw.encode()),
            background=True,
            retried=False,
            force=pressed.force,
            ambiguous=pressed.ambiguous,
        )
        carry = carry_of(visit, self.pipeline)
        self.gate.enter()
        try:
            begun = await self._begun(want, carry, visit.ledger)
            visit.run = begun.run
            answer = begun.answer
            if self.unheard is not None:
                answer = self.unheard.over(visit, answer)
            self.runs.floor.beside(partial(self._heard, visit, answer))
        except BaseException:
            self.gate.leave()
            raise
        return begun

    async def _begun(self, want: Wanted, carry: Carry, ledger: Ledger) -> Begun:
        begun = await self.runs.begin(want, carry, ledger)
        if begun is None:
            raise Unavailable("The journal of runs does not answer.", code="journal_lost")
        return begun

    async def rest(self) -> None:
        """When the gateway is told to stop, have what nobody hears stop after the calls under way.

        Another replica takes it up, or this one when it is there again.
        """
        while not self.gate.closing:  # noqa: ASYNC110 - what is told by a signal wakes nobody
            await anyio.sleep(_LOOK_S)
        for here in list(self.runs.floor.here.values()):
            if here.live.record.background and here.cast.listening <= 1:
                here.live.halt(Stop("left", Unavailable("The gateway is stopping.")))

    async def sweep(self, waiting: int) -> Swept:
        """Go on with runs of the background whose replica is gone, as far as there is room.

        *waiting* were found by the last sweep that were not to go on yet.
        """
        room = min(_AT_ONCE, self._room())
        if room <= 0:
            return Swept(waiting, more=True)
        try:
            return await self._swept(room + waiting)
        except JournalLost as lost:
            _log.warning("journal.lost", reason=why_of(lost))
            return Swept(waiting)

    def _room(self) -> int:
        """Return how many more runs can be at work here."""
        here = [one.live for one in self.runs.floor.here.values() if one.live.record.background]
        held = sum(bool(live.ledger.holds.waiting) for live in here)
        return min(_MOST_HERE - len(here), _MOST_HELD - held)

    async def _swept(self, most: int) -> Swept:
        """Go on with runs, of *most* that are looked at.

        Some wait for somebody's word, or could not go on when they were last tried.
        """
        waiting = 0
        found = await self.runs.journal.abandoned(most)
        if len(found) < most:
            self.later.only([record.name for record in found])
        for record in found:
            if self.later.waits(record.name) or await self._waits(record.name):
                waiting += 1
            elif record.sent is not None:
                await self._taken_up(record.name, record.sent)
        return Swept(waiting, more=len(found) == most)

    async def _waits(self, name: RunName) -> bool:
        """Return whether a run stands where somebody has yet to say how it goes on."""
        policy = self.runs.policy
        if policy.ambiguous != "ask":
            return False
        try:
            stored = await self.runs.journal.find(name)
        except JournalSealed:  # it keeps no other from going on
            return True
        return stored is not None and await waits_for_word(stored, policy.questions)

    async def _taken_up(self, name: RunName, sent: Sent) -> None:
        caller = self.door.named(name.owner or None)
        if caller is None or caller.has_expired(utc_now()):  # or its key has been revoked
            self.later.put_off(name)
            return
        try:
            await self.begin(caller, sent, name.run)
        except GatewayError as error:
            again_s = self.later.put_off(name)
            _log.warning("run.not_taken_up", run=name.run, reason=error.code, again_s=again_s)
        except Exception:  # noqa: BLE001 - a bug must not cost more than its run
            self.later.put_off(name)
            _log.exception("run.bug", run=name.run)
        else:
            self.later.rests(name)  # one that fails at once is not tried again as fast as it fails

    async def _visit(self, caller: Caller, sent: Sent, run: str | None) -> Visit:
        dialect = self.dialects.get(sent.dialect)
        if dialect is None:
            raise RequestRejected("The request of this run is of no dialect that is known.")
        raw = sent.raw.encode()
        request = spelled.Request(sent.headers, parse(raw), raw, caller)
        call, wishes = spelled.read(dialect.decode, request, self.pipeline.planner)
        if run is not None:
            wishes = replace(wishes, run=run)
        forwarded = {n: v for n, v in sent.headers.items() if n.startswith("anthropic-")}
        visit = Visit(new_name(), dialect.name, b"", sent.headers, Ledger(self.meters))
        visit.ledger.trace = self.traced(None, visit.request_id)
        visit.ledger.record(RequestBegun(dialect.name))
        visit.asked = Asked(call, caller, wishes, forwarded, request_id=visit.request_id)
        plan = self.pipeline.plan(visit.asked)
        visit.plan = await self.pipeline.routed(visit.asked, plan, visit.ledger.record)
        return visit

    async def _heard(self, visit: Visit, answer: EventStream) -> None:
        """Hear the answer to its end, and write down how it all ended."""
        visit.status = 200
        try:
            async with answer as events:
                async for _ in events:
                    pass
        except GatewayError as error:
            visit.error = error
            visit.status = self.dialects[visit.dialect].failure(error).status
        except Exception:  # noqa: BLE001 - a bug must not cost more than its run
            _log.exception("run.bug", run=visit.run)
            visit.error = GatewayError("The gateway has failed.", code="internal_error")
            visit.bug, visit.status = True, 500
        except BaseException:
            visit.error, visit.status = Unavailable("The gateway has stopped."), 503
            raise
        finally:
            self.gate.leave()
            plan = visit.plan
            label = plan.model.name if plan is not None else ""
            end(visit, visit.dialect, label, self.observer)
            let_go(visit)


async def sweeping(gate: Gate, current: Callable[[], Behind | None]) -> None:
    """Sweep now and then by what is *current* at that moment, until the gateway stops."""
    swept = Swept()
    while not gate.closing:
        await anyio.sleep(_SOON_S if swept.more else _SWEEP_S)
        if (behind := current()) is not None:
            swept = await behind.sweep(swept.waiting)
