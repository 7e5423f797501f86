"""A run that is carried out here: its steps, what of them is known, and how it stops.

A technique is carried out from its start each time. A step that is settled answers from the
journal, in the order in which the steps had ended, so that the technique decides as it did; what
is asked after them is sent. The technique itself is never told that its run stops: a step that
must not be sent waits, until what it is part of is cancelled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from random import Random  # noqa: TID251 - seeded from the run's own secret
from typing import Final, NoReturn

import anyio
import structlog

from gateway.metering.ledger import Ledger, StepAmbiguous, StepReplayed
from gateway.reasons import why_of
from gateway.runs.doubt import Doubts
from gateway.runs.identity import Talks, derived, step_key
from gateway.runs.order import Order
from gateway.runs.pen import Held, Pen
from gateway.runs.terms import Sending, Stop, Terms, diverged
from gateway.stores.journal.journal import JournalLost, StaleToken
from gateway.stores.journal.records import Standing, StepRecord, Stored
from techniques.core.errors import Unavailable
from techniques.core.events import Warned
from techniques.core.request import Request

_UNWANTED_S: Final = 0.05
"""How long a call that was no longer wanted gets to be called off again before it is made."""
_LAST_S: Final = 2.0
_DOUBTFUL: Final = frozenset({"dispatched", "ambiguous"})
_ASIDE: Final = frozenset({"summary"})
"""Roles of calls that only prepare others. Whether one is made depends on what a process has seen,
so one that is not asked for again, or is asked otherwise, is no divergence."""

_log = structlog.get_logger()


class LiveRun:
    """One run, claimed by this process.

    ``ledger`` is that of the request that it is carried out for. ``linger_s`` is how long calls
    under way may go on when it stops, ``on_suspended`` what is done before it is put away.
    """

    def __init__(
        self, held: Held, found: Stored, ledger: Ledger, terms: Terms | None = None
    ) -> None:
        terms, steps = terms or Terms(), found.steps
        self.hold = held.hold
        self.record = found.record
        self.ledger = ledger
        self.standing = replace(found.standing, state="executing")
        self.steps = {step.path: step for step in steps}
        self.stopping: Stop | None = None
        self.scope = anyio.CancelScope()
        self.linger_s = terms.linger_s
        self.continues = terms.continues
        self.on_suspended: dict[str, Callable[[], Awaitable[object]]] = {}
        self._pen = Pen(held, terms.clock)
        self._doubts = Doubts(terms)
        self._may_repeat = terms.ambiguous == "retry"
        self._asked: Counter[str] = Counter()
        self._seq = max((step.seq for step in steps), default=0)
        self.order = Order(steps)
        self._flying: set[str] = set()
        self._talks = Talks()
        self._restated = False
        self._without = False

    @property
    def name(self) -> str:
        """What the run is called."""
        return self.record.name.run

    @property
    def suspends(self) -> bool:
        """Whether a limit puts the run away."""
        return not self.record.background

    def dice(self) -> Random:
        """Return dice that fall the same each time the run is carried out."""
        return Random(int(derived(self.record.secret, "dice")[:16], 16))

    def fence(self) -> str:
        """Return a mark that nobody who writes a prompt can know, the same each time."""
        return derived(self.record.secret, "fence")[:16]

    def path(self, member: str, request: Request) -> str:
        """Return the place of a call in the run; calls alike are numbered as they come."""
        place = f"{self.record.technique}:{member}:{request.step}:{request.role}"
        number = self._asked[place]
        self._asked[place] += 1
        return f"{place}:{number}"

    async def ask(self, path: str, request: Request, model: str) -> StepRecord:
        """Return the step at *path*: settled, as the journal has it, or planned anew.

        One that is to be sent comes back when all that is settled has been heard.
        """
        of = model, self._talks.of(request)
        key = step_key(self.record.keyed, path, request, of)
        known = self.steps.get(path)
        if known is not None and known.key != (
            key if known.of is None else step_key(known.of, path, request, of)
        ):
            if self.record.parent is not None or known.role in _ASIDE:
                self.order.overtaken(known, self.steps)
            elif known.after < self.order.last:
                await self.stop(Stop("failed", diverged(path)))
            known = None
        if known is not None and self.order.has(known):
            return known
        await self.order.all_heard()
        if known is not None and known.state == "superseded":
            await anyio.sleep(_UNWANTED_S)
        if known is not None and known.state in _DOUBTFUL:
            await self._doubtful(known)
        step = StepRecord(path, key, after=self._seq, role=request.role)
        if known is not None and known.of is None:
            step.attempts, step.refusals = known.attempts, known.refusals
            step.partial = known.partial
        self.steps[path] = step
        return step

    def decided(self, name: str) -> str | None:
        """Return what was decided under *name* when the run was carried out before."""
        return self.standing.decided.get(name)

    def decide(self, name: str, what: str) -> None:
        """Have *what* be known under *name* wherever the run goes on; the next step writes it."""
        decided = {**self.standing.decided, name: what}
        self.standing, self._restated = replace(self.standing, decided=decided), True

    def skipped(self, role: str) -> Sequence[StepRecord]:
        """Return the settled steps of *role*, which need not be asked for any more."""
        steps = [step for path in self.order if (step := self.steps[path]).role == role]
        for step in steps:
            self.replayed(step)
            self.order.heard(step.path)
        return steps

    def replayed(self, step: StepRecord) -> None:
        """Count a step that was answered from the journal."""
        saved = step.cost or 0
        self.standing = replace(
            self.standing,
            replayed=self.standing.replayed + 1,
            saved=self.standing.saved + saved,
        )
        self.ledger.record(StepReplayed(step.model, saved))

    async def dispatched(self, path: str, to: Sending) -> str:
        """Write down that the step at *path* is about to be sent; only then may it be.

        It is not, where the run stops. Return what a provider may know this sending by: the same
        again where nobody knows what came of it, another where it is sure that nothing did.
        """
        if self.stopping is not None:
            await anyio.sleep_forever()
        step = self.steps[path]
        self._flying.add(path)
        step.state, step.attempts = "dispatched", step.attempts + 1
        step.model, step.provider, step.shown = to.model, to.provider, to.shown
        await self._write(step)
        return f"{step.key[:48]}-{step.refusals}"

    async def refused(self, path: str) -> None:
        """Write down that what was sent came to nothing, and may be sent again."""
        self._land(path)
        step = self.steps[path]
        step.state, step.refusals = "planned", step.refusals + 1
        await self._write(step, quietly=True)

    async def heard_so_far(self, path: str, text: str) -> None:
        """Write down as much of an answer as there is of it."""
        step = self.steps[path]
        step.partial = text
        await self._write(step, quietly=True)

    async def settle(self, path: str) -> None:
        """Write down what came of a step; it may be used when this returns."""
        step = self.steps[path]
        self._seq += 1
        step.seq = self._seq
        try:
            await self._write(step)
        finally:
            self._land(path)

    async def dropped(self, path: str) -> None:
        """Write down that a step was called off: it is not wanted, or the run stops."""
        step = self.steps[path]
        self._land(path)
        if step.state == "dispatched":
            step.state = "superseded" if self.stopping is None else "ambiguous"
            with anyio.move_on_after(_LAST_S, shield=True):
                await self._write(step, quietly=True)

    async def stop(self, stop: Stop) -> NoReturn:
        """Stop the run, from within one of its steps: what is under way may end first."""
        self.halt(stop)
        await anyio.sleep_forever()
        raise AssertionError

    def halt(self, stop: Stop) -> None:
        """Have the run stop when what is under way has ended."""
        if self.stopping is None:
            self.stopping = stop
        ends = anyio.current_time() + self.linger_s
        self.scope.deadline = min(self.scope.deadline, ends)
        if not self._flying:
            self.scope.cancel()

    def must_be_followed(self) -> None:
        """Refuse an end of the run at which settled steps were never asked for.

        Raises:
            RunConflict: There are some, and it was not forked to do otherwise.
        """
        missed = next((one for one in self.order if self.steps[one].role not in _ASIDE), None)
        if missed is not None and self.record.parent is None:
            raise diverged(missed)

    async def end(self, standing: Standing) -> None:
        """Write down how the run stands, and give up the claim."""
        self.standing, rests = standing, None
        if standing.reason == "step_ambiguous" and not self._doubts.asks:  # its resume says more
            rests = replace(self.record, background=False)
        try:
            with anyio.move_on_after(_LAST_S, shield=True):
                await self._pen.end(standing, rests)
        except (StaleToken, JournalLost) as error:
            _log.warning("run.unwritten", reason=why_of(error))

    async def _doubtful(self, known: StepRecord) -> None:
        """Stop at a step of which nobody knows what came of it, or have it made again."""
        sent = [step for step in self.steps.values() if step.state in _DOUBTFUL]
        doubtful = [step for step in sent if step.path not in self._flying]
        stop = await self._doubts.stop(self.record, known, doubtful)
        if stop is None:
            self.ledger.record(StepAmbiguous(known.model))
            self.standing = replace(self.standing, ambiguous=self.standing.ambiguous + 1)
            self.ledger.record(Warned("step_ambiguous", known.path))
            return
        for step in doubtful:
            if self.steps[step.path] is step:  # others may be made again by now
                step.state = "ambiguous"
                await self._write(step, quietly=True)
        await self.stop(stop)

    def wasted(self, picodollars: int) -> None:
        """Count what a step may have cost of which nobody knows what came of it."""
        self.standing = replace(self.standing, waste=self.standing.waste + picodollars)

    def is_doubtful(self, path: str) -> bool:
        """Return whether the step at *path* was sent by somebody who is gone."""
        known = self.steps.get(path)
        return known is not None and known.state in _DOUBTFUL

    def _land(self, path: str) -> None:
        self._flying.discard(path)
        if not self._flying and self.stopping is not None:
            self.scope.cancel()

    async def _write(self, step: StepRecord, *, quietly: bool = False) -> None:
        # a kill must not uncount a resumption
        says = self.standing.resumes or self._restated
        try:
            await self._pen.write(step, self.standing if says else None)
            self._restated = False
        except StaleToken:
            if not quietly:
                self._flying.discard(step.path)
                self.linger_s = 0.0
                await self.stop(Stop("stale"))
        except JournalLost as lost:
            await self._lost(step, lost, quietly=quietly)

    async def _lost(self, step: StepRecord, lost: JournalLost, *, quietly: bool) -> None:
        """Go on without the journal; stop where calls must not be made again unasked."""
        if not self._without:
            _log.warning("journal.lost", reason=why_of(lost))
            self.ledger.record(Warned("journal_lost"))
            self._without = True
        if not (quietly or self._may_repeat):
            self._flying.discard(step.path)
            error = Unavailable("The journal of runs does not answer.", code="journal_lost")
            await self.stop(Stop("left", error))
