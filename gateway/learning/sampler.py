"""Studies some of the traffic beside it: never in its way, and within a budget of its own.

What a request asked and was answered is in memory alone, until it was studied or let go.
"""

from __future__ import annotations

from typing import Final, Protocol

import anyio
import numpy as np
import structlog

from gateway.channels.overheard import Heard
from gateway.clock import loop_time
from gateway.learning.counts import Kind, Result
from gateway.learning.estimates import Usual, expected_usd
from gateway.learning.learnt import Answered, Learner, plain_usd
from gateway.learning.running import Laboratory
from gateway.reasons import why_of
from router_service.arms import PLAIN, arm_of
from router_service.contract import RouterGone
from router_service.groundwork.database import DatabaseLost
from router_service.learning.purse import Purse
from router_service.learning.settings import SamplingSettings
from techniques.core.errors import RequestRejected
from techniques.core.groups import task_group

_JUDGING: Final = 0.5
"""Of what may be spent: what judge samples leave alone where full traces are wanted too.

A sample costs little, a trace much: whoever takes what is there at once would take it all.
"""

_log = structlog.get_logger()


class Counts(Protocol):
    """What is told of each study."""

    def studied(self, kind: Kind, result: Result, usd: float = 0.0) -> None:
        """Count it, and what it cost."""
        ...


class Sampler:
    """Chooses what is studied, and studies it. It belongs to one process.

    Of what the traffic costs it may spend a share.
    """

    def __init__(
        self,
        settings: SamplingSettings,
        laboratory: Laboratory,
        learner: Learner,
        *,
        dice: np.random.Generator,
        counts: Counts,
    ) -> None:
        self._settings = settings
        self._laboratory = laboratory
        self._learner = learner
        self._dice = dice
        self._counts = counts
        self._usual = Usual()
        self.purse = Purse(settings.share)
        part = _JUDGING if settings.trace_rate > 0 else 1.0
        self._of_kind = {"judge_sample": Purse(part * settings.share)}
        self._send, self._take = anyio.create_memory_object_stream[tuple[Kind, Answered]](
            settings.queue
        )

    def earn(self, usd: float) -> None:
        """Learn that a request of the traffic has cost so much."""
        for purse in (self.purse, *self._of_kind.values()):
            purse.earn(usd, loop_time())

    def listens(self) -> Heard | None:
        """Return where to write down what a technique answers, if that is to be judged."""
        return Heard() if self._dice.random() < self._settings.judge_rate else None

    def offer(self, answered: Answered) -> None:
        """Have *answered* studied, if it is its turn; nobody waits for that.

        A technique's answer is judged if it was listened to. That of a single call need not be:
        it is asked for once more.
        """
        if answered.judge is None and answered.valuer is None:
            return  # nobody could tell what anything is worth
        arm = arm_of(answered.observation.arm)
        alone = arm.technique == PLAIN.technique
        judged = self.listens() is not None if alone else answered.heard is not None
        if judged:
            self._put("judge_sample", answered)
        if self._dice.random() < self._settings.trace_rate:
            self._put("full_trace", answered)

    async def serve(self) -> None:
        """Study what is offered until cancelled; what then waits is let go."""
        async with self._send, self._take, task_group() as group:
            for _ in range(self._settings.parallel):
                group.start_soon(self._work)

    @property
    def waiting(self) -> int:
        """How many requests wait to be studied."""
        return self._send.statistics().current_buffer_used

    def close(self) -> None:
        """Let go what waits, where nothing was ever served."""
        self._send.close()
        self._take.close()

    def _put(self, kind: Kind, answered: Answered) -> None:
        try:
            self._send.send_nowait((kind, answered))
        except anyio.WouldBlock:
            self._counts.studied(kind, "queue_full")

    async def _work(self) -> None:
        async with self._take.clone() as offered:
            async for kind, answered in offered:
                try:
                    await self._study(kind, answered)
                except (RouterGone, DatabaseLost) as lost:
                    _log.warning("learning.unkept", kind=kind, reason=why_of(lost))
                    self._counts.studied(kind, "failed")
                except Exception:  # noqa: BLE001 - a bug must not end the learning of all others
                    _log.exception("learning.bug", kind=kind)
                    self._counts.studied(kind, "failed")

    async def _study(self, kind: Kind, answered: Answered) -> None:
        try:
            request = answered.call.relay.decode()
        except RequestRejected:
            self._counts.studied(kind, "nothing")
            return
        task = self._learner.assignment(kind, answered)
        guess = expected_usd(task.study, request, plain_usd(answered.observation))
        usual = self._usual.expected(kind, guess)
        purses = [self.purse, *(one for name, one in self._of_kind.items() if name == kind)]
        if any(usual > purse.allowance(loop_time()).left_usd for purse in purses):
            self._counts.studied(kind, "no_budget")
            return
        for purse in purses:
            purse.hold(kind, usual, loop_time())
        spent = 0.0
        try:
            studied = await self._laboratory.carry_out(task.study)
            spent = studied.usd
        finally:
            for purse in purses:
                purse.settle(kind, spent, loop_time())
        self._usual.learn(kind, guess, spent)
        if studied.failure is not None:
            self._counts.studied(kind, "failed", spent)
            return
        learnt = await task.learn(studied)
        self._counts.studied(kind, "learnt" if learnt else "nothing", spent)
