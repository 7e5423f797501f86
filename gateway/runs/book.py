"""All runs that are carried out here: who begins one, goes on with one, or listens to one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import anyio
import structlog

from gateway.metering.ledger import Ledger, RunResumed
from gateway.reasons import why_of
from gateway.runs.cast import Cast
from gateway.runs.ending import Here, unlike
from gateway.runs.events import unpacked
from gateway.runs.floor import Carry, Floor
from gateway.runs.listening import Elsewhere, Listening, Told
from gateway.runs.live import LiveRun
from gateway.runs.pen import Held
from gateway.runs.terms import Stop, cancelled, lost_of, must_be_same
from gateway.runs.wanted import Begun, RunPolicy, Wanted
from gateway.stores.journal.journal import (
    Claim,
    Claimed,
    Journal,
    JournalLost,
    Matching,
    Write,
)
from gateway.stores.journal.memory import wall_ms
from gateway.stores.journal.records import RunName, RunRecord, Stored
from gateway.stores.journal.seal import JournalSealed
from techniques.core.channel import EventStream
from techniques.core.errors import RunBusy, RunConflict
from techniques.core.events import Warned

_POLL_S: Final = 0.25
_FINAL: Final = ("cancelled", "failed")

_log = structlog.get_logger()


class RunBook:
    """Begins runs, goes on with them, and lets others listen to those under way."""

    def __init__(
        self,
        journal: Journal,
        policy: RunPolicy | None = None,
        clock: Callable[[], int] = wall_ms,
    ) -> None:
        self.journal = journal
        self.policy = policy or RunPolicy()
        self._clock = clock
        self.floor = Floor(journal, self.policy, clock)

    async def begin(self, wanted: Wanted, carry: Carry, ledger: Ledger) -> Begun | None:
        """Return the answer to *wanted*: carried out with *carry*, gone on with, or listened to.

        None where the journal does not answer: then it is to be carried out without.

        Raises:
            RunConflict: The run is about something else, was cancelled or cannot go on.
            Unavailable: What the journal has of a run of that name cannot be opened.
        """
        here = self.floor.here.get(wanted.name)
        if here is not None:
            return self._under_way(here, wanted, carry, ledger)
        try:
            answer = await self.journal.claim(self._claim(wanted))
        except JournalLost as lost:
            if wanted.run is not None and isinstance(lost, JournalSealed):
                raise lost_of(lost) from lost  # it must not be paid for once more
            _log.warning("journal.lost", reason=why_of(lost))
            ledger.record(Warned("journal_lost"))
            return None
        if isinstance(answer, Claimed):
            return await self._carried(answer, wanted, carry, ledger)
        here = self.floor.here.get(answer.record.name)
        if here is not None:
            return self._under_way(here, wanted, carry, ledger)
        must_be_same(answer.record, wanted.body)
        return self._found(answer, wanted.chosen(answer.record.routed), carry, ledger)

    async def waits(self, owner: str, body: str) -> bool:
        """Return whether a run of that key and body waits to be taken up, as far as is known."""
        try:
            return await self.journal.waits(owner, body)
        except JournalLost as lost:
            _log.warning("journal.lost", reason=why_of(lost))
            return False

    async def find(self, name: RunName) -> Stored | None:
        """Return how a run stands, here or elsewhere.

        Raises:
            Unavailable: The journal does not answer.
        """
        try:
            stored = await self.journal.find(name)
        except JournalLost as lost:
            raise lost_of(lost) from lost
        here = self.floor.here.get(name)
        if here is None or stored is None:
            return stored
        steps = tuple(here.live.steps.values())
        return replace(stored, standing=here.live.standing, steps=steps)

    async def erase(self, owner: str) -> int:
        """Forget all runs of a key, and return how many; those under way are cut off.

        Raises:
            Unavailable: The journal does not answer.
        """
        self.cut_off([name for name in self.floor.here if name.owner == owner])
        try:
            return await self.journal.erase(owner)
        except JournalLost as lost:
            raise lost_of(lost) from lost

    def cut_off(self, names: Sequence[RunName]) -> None:
        """Stop at once those of the runs that are carried out here."""
        for name in names:
            here = self.floor.here.get(name)
            if here is not None:
                here.live.linger_s = 0.0
                here.live.halt(Stop("cancelled", cancelled(name.run)))

    def cast(self, name: RunName) -> Cast | None:
        """Return what a run says that is carried out here."""
        here = self.floor.here.get(name)
        return None if here is None else here.cast

    def heard(self, name: RunName) -> EventStream | None:
        """Return the answer of a run that is carried out here, None if it is not."""
        here = self.floor.here.get(name)
        return None if here is None else self._listening(here)

    async def cancel(self, stored: Stored) -> None:
        """End a run for good; what was paid for is kept.

        Raises:
            RunBusy: It is at work on another replica.
            Unavailable: The journal does not answer.
        """
        here = self.floor.here.get(stored.record.name)
        if here is not None:
            here.live.halt(Stop("cancelled", cancelled(here.live.name)))
            await here.cast.wait()
            return
        if stored.is_executing:
            raise RunBusy("The run is at work on another replica.")
        if stored.standing.state in ("completed", "cancelled"):
            return
        try:
            answer = await self.journal.claim(
                Claim(stored.record, self.policy.lease_ms, again=True)
            )
            if isinstance(answer, Claimed):
                standing = replace(answer.stored.standing, state="cancelled", eta_ms=None)
                await self.journal.write(Write(answer.hold, (), standing, ends=True))
        except JournalLost as lost:
            raise lost_of(lost) from lost

    def _claim(self, wanted: Wanted) -> Claim:
        record = wanted.record(self._clock())
        matching: Matching = "any" if wanted.retried else "waiting"
        if wanted.run is not None:
            matching = "name"
        return Claim(record, self.policy.lease_ms, matching, again=wanted.force)

    async def _carried(
        self, claimed: Claimed, wanted: Wanted, carry: Carry, ledger: Ledger
    ) -> Begun:
        stored, record = claimed.stored, claimed.stored.record
        if not claimed.is_new:
            wanted = wanted.chosen(record.routed)
            record = await self._resumed(claimed, wanted, ledger)
        resumes = stored.standing.resumes + (0 if claimed.is_new else 1)
        standing = replace(stored.standing, resumes=resumes)
        found = replace(stored, record=record, standing=standing)
        terms = self.policy.terms(wanted.ambiguous, self._clock)
        live = LiveRun(Held(self.journal, claimed.hold), found, ledger, terms)
        here = self.floor.here[record.name] = Here(live, wanted, Cast())
        return Begun(live.name, self._listening(here, carry))

    async def _resumed(self, claimed: Claimed, wanted: Wanted, ledger: Ledger) -> RunRecord:
        """Return the record of a run that goes on, with what has changed of it.

        Raises:
            RunConflict: What is to be done for it is not what it was.
        """
        stored, record = claimed.stored, claimed.stored.record
        if record.plan != wanted.plan and stored.steps and not wanted.force:
            await self._write(Write(claimed.hold, (), unlike(stored), ends=True))
            raise RunConflict(
                f"What is to be done for the run {record.name.run} has changed since it began; "
                'POST to its /resume with {"force": true} to have it go on all the same.',
                code="config_changed",
            )
        cause = "name" if wanted.run is not None else "body"
        if stored.standing.state == "executing":
            cause = "crash"
        elif wanted.background:
            cause = "background"
        ledger.record(RunResumed(cause))
        if record.plan == wanted.plan and record.background == wanted.background:
            return record
        record = replace(
            record, plan=wanted.plan, background=wanted.background, routed=wanted.routed
        )
        await self._write(Write(claimed.hold, record=record))
        return record

    async def _write(self, write: Write) -> None:
        try:
            await self.journal.write(write)
        except JournalLost as lost:
            raise lost_of(lost) from lost

    def _found(self, stored: Stored, wanted: Wanted, carry: Carry, ledger: Ledger) -> Begun:
        """Return the answer of a run that is over, or that another replica is at work on."""
        run = stored.record.name.run
        match stored.standing.state:
            case "completed":
                return Begun(run, _repeated(stored), over=True)
            case "cancelled":
                raise cancelled(run)
            case _:
                return Begun(run, self._elsewhere(stored.record.name, wanted, carry, ledger))

    def _listening(self, here: Here, carry: Carry | None = None) -> EventStream:
        """Return the answer of a run that is carried out here, or with *carry* will be."""
        begin = None if carry is None else partial(self.floor.start, here, carry)
        return Listening(here.cast, partial(self.floor.leave, here), begin)

    def _joined(self, here: Here, wanted: Wanted, carry: Carry, ledger: Ledger) -> EventStream:
        """Return the answer of a run that is carried out here; of one that stops, as it goes on.

        What it says until it stops is half an answer.
        """
        stop = here.live.stopping
        if stop is None or stop.why in _FINAL or here.cast.ended:  # then it has come to its answer
            return self._listening(here)
        again = partial(self._again, here.live.record.name, wanted, carry, ledger)
        return Elsewhere(here.cast.wait, again)

    def _under_way(self, here: Here, wanted: Wanted, carry: Carry, ledger: Ledger) -> Begun:
        """Return a run that is carried out here, and its answer."""
        must_be_same(here.live.record, wanted.body)
        wanted = wanted.chosen(here.live.record.routed)
        return Begun(here.live.name, self._joined(here, wanted, carry, ledger))

    def _elsewhere(
        self, name: RunName, wanted: Wanted, carry: Carry, ledger: Ledger
    ) -> EventStream:
        """Return the answer of a run that another is at work on; or then is again."""
        again = partial(self._again, name, wanted, carry, ledger)
        return Elsewhere(partial(self._patient, name), again)

    async def _again(self, name: RunName, wanted: Wanted, carry: Carry, ledger: Ledger) -> Begun:
        begun = await self.begin(replace(wanted, run=name.run), carry, ledger)
        if begun is None:
            raise lost_of(JournalLost())
        return begun

    async def _patient(self, name: RunName) -> None:
        """Wait until nobody else is at work on a run any more.

        Raises:
            RunBusy: That takes too long.
            Unavailable: The journal does not answer.
        """
        with anyio.move_on_after(self.policy.attach_s):
            while True:
                try:
                    stored = await self.journal.find(name)
                except JournalLost as lost:
                    raise lost_of(lost) from lost
                if stored is None or not stored.is_executing:
                    return
                await anyio.sleep(min(_POLL_S, max(stored.lease_ms / 1000, 0.01)))
        raise RunBusy(f"The run {name.run} is at work on another replica.")


def _repeated(stored: Stored) -> EventStream:
    """Return the answer of a run that is over; of what it saves nobody keeps count."""
    answer = stored.standing.answer
    if not answer:  # a plain call has one step, and no other answer
        done = (step.events for step in stored.steps if step.state == "completed")
        answer = next(filter(None, done), None)
    return Told(unpacked(answer or "[]"))
