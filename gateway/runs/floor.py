"""Where runs are carried out: each in a task of its own, for as long as somebody wants it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeAlias

import anyio
import structlog
from anyio import TASK_STATUS_IGNORED
from anyio.abc import TaskGroup, TaskStatus

from gateway.reasons import why_of
from gateway.runs.ending import Here, ending
from gateway.runs.live import LiveRun
from gateway.runs.terms import Stop
from gateway.runs.wanted import RunPolicy
from gateway.stores.journal.journal import Journal, JournalLost
from gateway.stores.journal.records import RunName
from techniques.core.channel import EventStream
from techniques.core.errors import GatewayError, Unavailable
from techniques.core.events import Finished
from techniques.core.groups import task_group

Carry: TypeAlias = Callable[[LiveRun], EventStream]
"""Carries a run out: its events."""

_CLOSE_S: Final = 3.0
_PREPARE_S: Final = 1.0
"""How long what is done before a run is put away may take, all of it."""

_log = structlog.get_logger()


class Floor:
    """The runs that are carried out in this process, ``here`` by their names."""

    def __init__(self, journal: Journal, policy: RunPolicy, clock: Callable[[], int]) -> None:
        self.here: dict[RunName, Here] = {}
        self._journal = journal
        self._policy = policy
        self._clock = clock
        self._group: TaskGroup | None = None

    async def serve(self, *, task_status: TaskStatus[None] = TASK_STATUS_IGNORED) -> None:
        """Carry runs out, and keep what is held alive, until cancelled."""
        try:
            async with task_group() as group:
                self._group = group
                task_status.started()
                await self._keep()
        finally:
            self._group = None

    def beside(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do *work* beside everything else.

        Raises:
            Unavailable: The gateway is stopping.
        """
        if self._group is None:
            raise Unavailable("The gateway is stopping; send the request again.")
        self._group.start_soon(work)

    def start(self, here: Here, carry: Carry) -> None:
        """Begin to carry a run out."""
        if self._group is None:
            self.here.pop(here.live.record.name, None)
            stopping = Unavailable("The gateway is stopping; send the request again.")
            here.cast.end(stopping)  # who began it waits for its end
            raise stopping
        self._group.start_soon(self._execute, here, carry)

    async def _execute(self, here: Here, carry: Carry) -> None:
        live, cast = here.live, here.cast
        failure: GatewayError | None = None
        finished = False
        try:
            with live.scope:
                try:
                    async with carry(live) as events:
                        async for event in events:
                            if isinstance(event, Finished):
                                live.must_be_followed()
                                finished = True
                            cast.say(event)
                except GatewayError as error:
                    failure = error
                except Exception:  # noqa: BLE001 - a bug must not cost more than its run
                    _log.exception("run.bug", run=live.name)
                    failure = GatewayError("The gateway has failed.", code="internal_error")
        except BaseException:
            live.halt(Stop("left"))
            failure = Unavailable("The gateway has stopped.")
            raise
        finally:
            with anyio.move_on_after(_CLOSE_S, shield=True):
                await self._close(here, None if finished else failure, finished=finished)

    async def _close(self, here: Here, failure: GatewayError | None, *, finished: bool) -> None:
        live, cast = here.live, here.cast
        if finished:
            cast.end()
        answer = cast.said if finished else None
        standing, told = ending(here, failure, answer, self._clock())
        try:
            if standing.state == "suspended":
                await _prepare(live)
            if live.stopping is None or live.stopping.why != "stale":
                await live.end(standing)
        except Exception:  # noqa: BLE001 - what cannot be written must not end all other runs
            _log.exception("run.bug", run=live.name)
        finally:
            self.here.pop(live.record.name, None)
            cast.end(told)

    def break_off(self) -> None:
        """Stop all runs at once: what is sent and not answered is then known to be in doubt."""
        for here in list(self.here.values()):
            here.live.linger_s = 0.0
            here.live.halt(Stop("left", Unavailable("The gateway has stopped.")))

    def leave(self, here: Here) -> None:
        """Note that a listener has gone; a run that nobody listens to stops.

        Calls under way may end first where the client is sure to come back for what they bring.
        """
        live = here.live
        if here.cast.ended or here.cast.listening or live.record.background:
            return
        if not here.wanted.returns:
            live.linger_s = 0.0
        live.halt(Stop("left"))

    async def _keep(self) -> None:
        """Hold on to the runs that are carried out here, and forget what is old."""
        purged = 0.0
        while True:
            await anyio.sleep(self._policy.lease_s / 3)
            try:
                await self._renew()
                if anyio.current_time() - purged > self._policy.retention_s / 100:
                    purged = anyio.current_time()
                    old_ms = int(self._policy.retention_s * 1000)
                    await self._journal.purge(self._clock() - old_ms)
            except JournalLost as lost:
                _log.warning("journal.lost", reason=why_of(lost))

    async def _renew(self) -> None:
        holds = {here.live.hold: here for here in self.here.values()}
        if holds:
            for lost in await self._journal.renew(list(holds), self._policy.lease_ms):
                live = holds[lost].live
                live.linger_s = 0.0
                live.halt(Stop("stale"))


async def _prepare(live: LiveRun) -> None:
    """Do what is to be done before a run is put away; it is put away all the same."""
    with anyio.move_on_after(_PREPARE_S):
        for prepare in live.on_suspended.values():
            await prepare()
