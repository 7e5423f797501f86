"""Which session sits in which slot: the decision alone, nothing is asked of anyone."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio

from gateway.upstream.llama_cpp.kept import Session, digest


@dataclass(slots=True, eq=False)
class Seat:
    """A slot as this gateway has filled it.

    Attributes:
        session: Whose contents it holds, None: nobody's that are worth anything.
        busy: A call computes in it, or its contents are being moved.
        tokens: How many it holds, None: not known.
        changed: What it holds is on no disk.
        used_at: When it was last left, a time of ``anyio.current_time``.
        moving: Is set when its contents have been moved; None: they are not being moved.
        restored: It was filled from disk, and no call has used it since.
    """

    id: int
    session: Session | None = None
    busy: bool = False
    tokens: int | None = None
    changed: bool = False
    used_at: float = 0.0
    moving: anyio.Event | None = None
    restored: bool = False

    def empty(self) -> None:
        """Forget what it holds."""
        self.session, self.tokens, self.changed, self.restored = None, None, False, False


@dataclass(slots=True)
class Seats:
    """The slots of one server."""

    rows: list[Seat] = field(default_factory=list)

    def resize(self, count: int) -> None:
        """Have as many seats as the server has slots; those that stay keep what they hold."""
        del self.rows[count:]
        self.rows += [Seat(number) for number in range(len(self.rows), count)]

    def of(self, session: Session) -> Seat | None:
        """Return the seat that holds what *session* has come to, None if none does."""
        return next((seat for seat in self.rows if seat.session == session), None)

    def take(self, session: Session | None) -> Seat | None:
        """Return a free seat, which is busy from now on; None if all are.

        A session gets its own. Anyone else gets one that holds nothing, or else what is on disk
        anyway, or else what was not used for longest. Of equal ones a session gets the same in
        every process.
        """
        own = None if session is None else self.of(session)
        if own is None or own.busy:
            free = [seat for seat in self._from(session) if not seat.busy]
            own = min(free, key=_worth, default=None)
        if own is not None:
            own.busy = True
        return own

    def _from(self, session: Session | None) -> list[Seat]:
        """Return the seats in the order in which *session* tries them."""
        if session is None or not self.rows:
            return self.rows
        first = int(digest(*session), 16) % len(self.rows)
        return [*self.rows[first:], *self.rows[:first]]

    def idle(self, now: float, idle_s: float) -> list[Seat]:
        """Return the seats whose session has not called for *idle_s*, and is on no disk."""
        return [
            seat
            for seat in self.rows
            if seat.session is not None
            and seat.changed
            and not seat.busy
            and now - seat.used_at >= idle_s
        ]


def _worth(seat: Seat) -> tuple[bool, bool, float]:
    return seat.session is not None, seat.changed, seat.used_at
