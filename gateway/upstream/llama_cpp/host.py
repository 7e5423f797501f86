"""A server of llama.cpp as this gateway uses it: who sits where, and what is kept of it."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

import anyio
import structlog

from gateway.clock import loop_time
from gateway.reasons import why_of
from gateway.upstream.llama_cpp import room
from gateway.upstream.llama_cpp.kept import Degraded, Reason, Session
from gateway.upstream.llama_cpp.kv import Kv
from gateway.upstream.llama_cpp.pace import Pace
from gateway.upstream.llama_cpp.seated import Computed
from gateway.upstream.llama_cpp.seats import Seat, Seats
from gateway.upstream.llama_cpp.server import Server
from gateway.upstream.llama_cpp.told import Props, ServerFailed, Slot
from gateway.upstream.llama_cpp.vram import CardFailed

Outcome: TypeAlias = Literal["saved", "restored", "there"] | Reason
"""What became of contents: ``there``, they are already where they are wanted."""

_BEAT_S: Final = 1.0
_SWEEP_S: Final = 3600.0
_UNLIKE: Final = 2

_log = structlog.get_logger()


class Seen(Protocol):
    """Takes in what happens, for metrics."""

    def moved(self, provider: str, what: Literal["save", "restore"], outcome: Outcome) -> None:
        """Contents were to be moved."""
        ...

    def took(self, provider: str, what: Literal["save", "restore"], seconds: float) -> None:
        """Contents were moved in *seconds* of the server's."""
        ...

    def spared(self, provider: str, tokens: int) -> None:
        """A call found so many tokens of its prompt computed."""
        ...

    def stands(self, provider: str, busy: int, idle: int, left: int | None) -> None:
        """So many slots compute, so many do not; *left* tokens fit where the least do."""
        ...


@dataclass(frozen=True, slots=True)
class HostPolicy:
    """How a server is used.

    ``margin`` tokens of context are left alone; a session that has not called for ``idle_s`` is
    saved; the server is looked at every ``poll_s``, all in seconds. ``free`` tells the free bytes
    of its card, None: nobody looks; ``bytes_per_token`` what a token takes of them. ``alone``: no
    other process seats calls at the same server.
    """

    margin: int = 256
    idle_s: float = 60.0
    poll_s: float = 5.0
    free: Callable[[], int] | None = None
    bytes_per_token: float | None = None
    alone: bool = True


class Host:
    """One server. *kv* None: what slots hold is not kept."""

    def __init__(
        self, name: str, server: Server, seen: Seen, policy: HostPolicy, *, kv: Kv | None = None
    ) -> None:
        self.name = name
        self.props: Props | None = None
        self.seats = Seats()
        self._server = server
        self._seen = seen
        self._policy = policy
        self._pace = Pace(policy.bytes_per_token) if kv is None else kv.pace
        self._kv = kv
        self._told = True  # of the server's state, in the log
        self._looked = -math.inf
        self._swept = -math.inf
        self.resized: Callable[[int], Awaitable[None]] = _nobody_minds
        """Is told how many slots there are, when that is another number."""

    async def sit(self, session: Session | None) -> Seat | None:
        """Return a slot for a call; what it holds of others is saved, of *session* restored."""
        if session is not None:
            await self._still(session)
        elif not self._policy.alone:
            return None  # the server knows better which slots are free
        seat = self.seats.take(session)
        if seat is None or (session is not None and seat.session == session):
            return seat
        # a second call of a session at the same time has no place of its own
        owner = None if session is None or self.seats.of(session) else session
        await self._hand_over(seat, owner)
        return seat

    def stand(self, seat: Seat, computed: Computed | None) -> None:
        """Take the slot of a call back."""
        seat.busy, seat.restored, seat.used_at = False, False, loop_time()
        seat.changed = seat.session is not None
        seat.tokens = None
        if computed is not None:
            seat.tokens = computed.tokens
            self._pace.read(computed.read, computed.read_s)
            self._seen.spared(self.name, computed.cached)

    async def on_suspended(self, session: Session) -> Outcome:
        """Keep what is computed of *session*, which will not call for a while."""
        await self._still(session)
        seat = self.seats.of(session)
        if seat is None or seat.busy:
            return self._note("save", "no_slot")
        if not seat.changed:
            return self._note("save", "there")
        with _Moving(seat):
            outcome = await self._save(session, seat.id, seat.tokens)
            seat.changed = False  # what could not be kept now is not tried every second
        return outcome

    async def on_resumed(self, session: Session) -> Outcome:
        """Have a slot hold again what is kept of *session*, which is about to call."""
        await self._still(session)
        if self.seats.of(session) is not None:
            return self._note("restore", "there")
        seat = self.seats.take(session)
        if seat is None:
            return self._note("restore", "no_slot")
        try:
            return await self._hand_over(seat, session)
        finally:
            seat.busy = False

    async def look(self) -> None:
        """Learn how the server stands, and whether its slots still hold what they did."""
        self._looked = loop_time()
        before = {seat.id: seat.used_at for seat in self.seats.rows}
        try:
            props = await self._server.props()
            if self.props is None or props.slots != self.props.slots:
                await self.resized(props.slots)
            self.props = props
            self.seats.resize(props.slots)
            slots = await self._server.slots()
            left = await self._left(props, slots)
        except (ServerFailed, CardFailed) as failed:
            if self._told:
                _log.warning("llama_cpp.unseen", provider=self.name, reason=why_of(failed))
            self._told = False
            return
        self._told = True
        for slot in slots:
            self._compare(slot, before)
        busy = sum(slot.processing for slot in slots)
        self._seen.stands(self.name, busy, len(slots) - busy, left)

    async def beat(self) -> None:
        """Do what is due: look at the server, save sessions that are idle, sweep the folder."""
        now = loop_time()
        if now - self._looked >= self._policy.poll_s:
            await self.look()
        if self._kv is None:
            return
        for seat in self.seats.idle(now, self._policy.idle_s):
            if seat.session is not None:
                await self.on_suspended(seat.session)
        if now - self._swept >= _SWEEP_S:
            self._swept = now
            await self._kv.sweep()

    async def serve(self) -> None:
        """Do so until it is cancelled."""
        while True:
            await anyio.sleep(_BEAT_S)
            try:
                await self.beat()
            except Exception:  # noqa: BLE001 - one of the boundaries: a service goes on
                _log.exception("llama_cpp.failed", provider=self.name)

    async def close(self, within_s: float) -> None:
        """Keep what is in the slots, as far as that can be done *within_s* seconds."""
        if self._kv is None:
            return
        until = loop_time() + within_s
        for seat in self.seats.idle(math.inf, 0):
            left = await room.least([room.time(until, loop_time, self._pace.reserve_s)])
            if left.full:
                self._note("save", "no_time")
            elif seat.session is not None:
                await self.on_suspended(seat.session)

    async def _hand_over(self, seat: Seat, session: Session | None) -> Outcome:
        """Make *seat* that of *session*; what it held of another is saved before."""
        before, tokens, changed = seat.session, seat.tokens, seat.changed
        seat.empty()
        seat.session = session  # at once: who looks meanwhile finds it taken
        outcome: Outcome = "there"
        try:
            with _Moving(seat):
                if before is not None and changed:
                    await self._save(before, seat.id, tokens)
                if session is not None:
                    outcome = await self._restore(session, seat)
        except BaseException:
            seat.empty()
            raise
        seat.busy = True
        return outcome

    async def _save(self, session: Session, slot: int, tokens: int | None) -> Outcome:
        if self._kv is None:
            return "off"
        try:
            moved = await self._kv.save(session, slot, tokens)
        except Degraded as degraded:
            return self._note("save", degraded.reason)
        self._seen.took(self.name, "save", moved.seconds)
        return self._note("save", "saved")

    async def _restore(self, session: Session, seat: Seat) -> Outcome:
        if self._kv is None:
            return "off"
        try:
            moved = await self._kv.restore(session, seat.id)
        except Degraded as degraded:
            return self._note("restore", degraded.reason)
        seat.tokens, seat.restored = moved.tokens, True
        self._seen.took(self.name, "restore", moved.seconds)
        return self._note("restore", "restored")

    def _note(self, what: Literal["save", "restore"], outcome: Outcome) -> Outcome:
        self._seen.moved(self.name, what, outcome)
        return outcome

    async def _still(self, session: Session) -> None:
        """Wait until what is kept of *session* is not being moved."""
        while (seat := self.seats.of(session)) is not None and seat.moving is not None:
            await seat.moving.wait()

    async def _left(self, props: Props, slots: tuple[Slot, ...]) -> int | None:
        """Return how many tokens still fit: where the least do, of context and of memory."""

        async def fullest() -> Slot:
            return max(slots, key=lambda slot: slot.used)

        sources = [room.context(fullest, of=props.context, margin=self._policy.margin)]
        if self._policy.free is not None and self._pace.bytes_per_token is not None:
            sources.append(room.memory(self._policy.free, self._pace.bytes_per_token))
        return (await room.least(sources)).tokens

    def _compare(self, slot: Slot, before: dict[int, float]) -> None:
        """Forget what *slot* no longer holds: the server was started anew, or gave it away."""
        seat = next((seat for seat in self.seats.rows if seat.id == slot.id), None)
        if seat is None or seat.busy or before.get(seat.id) != seat.used_at or seat.restored:
            return
        if seat.tokens is None:
            seat.tokens = slot.cached
        elif slot.cached < seat.tokens - _UNLIKE:
            seat.empty()


async def _nobody_minds(_slots: int) -> None:
    pass


class _Moving:
    """The contents of *seat* are being moved; whoever wants them waits."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat

    def __enter__(self) -> None:
        self._seat.busy = True
        self._seat.moving = anyio.Event()

    def __exit__(self, *_error: object) -> None:
        moving, self._seat.moving = self._seat.moving, None
        self._seat.busy = False
        if moving is not None:
            moving.set()
