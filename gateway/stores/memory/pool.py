"""What one pool holds, and how its leases begin and end."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gateway.admission.purse import Purse
from gateway.admission.queueing import Deadlines, Line
from gateway.admission.windows import Shown
from gateway.stores.bells import Bells
from gateway.stores.ledger import Amounts, WindowReading
from gateway.stores.memory.defining import AnyWindow, read_into
from gateway.stores.memory.sums import KEPT_MS, Sums

GRANTED_MS: Final = 15_000
DISPATCHED_MS: Final = 60_000
UNSEEN_MS: Final = 15_000
ABOUT_MS: Final = 500
MONEY_KEPT_MS: Final = 600_000
_TIDIED: Final = 64


@dataclass(slots=True)
class Lease:
    """A hold, or what it came to: that is kept a while, to be corrected and counted.

    Attributes:
        amounts: What is held of each window; once it ended, what was charged.
        entry: The leases that were granted together, if it is the first of them.
        sent: When it was dispatched, None before.
        until: When what it came to is forgotten.
        row: The hash of the row that was kept with it last: the text itself is long, and a lease
            of money is remembered for ten minutes.
    """

    id: str
    amounts: dict[str, int]
    entry: tuple[str, ...]
    tag: int
    granted: float
    sent: float | None = None
    ended: bool = False
    until: float = 0
    row: int | None = None


class Pool:
    """The windows, leases, waiters and rows of one pool. ``now`` is set by ``begin``."""

    def __init__(self) -> None:
        self.bells = Bells()
        self.now: float = 0
        self.windows: dict[str, AnyWindow] = {}
        self.line = Line()
        self.rows: dict[str, tuple[float, str]] = {}
        self.live = Deadlines()
        self.orphans = 0
        self.ungrabbed = 0
        self._leases: dict[str, Lease] = {}
        self._forgetting = Deadlines()
        self._sent: defaultdict[str, Sums] = defaultdict(Sums)
        self._unsent: Counter[str] = Counter()

    def begin(self, now: float) -> None:
        """Go on to *now*: end leases that nobody renewed, forget, drop and age waiters."""
        self.now = now
        if now >= self.live.soonest:
            for name in self.live.due(now, _TIDIED):
                self._lapse(self._leases[name])
        if now >= self._forgetting.soonest:
            for name in self._forgetting.due(now, _TIDIED):
                del self._leases[name]
        if self.line.entries:
            for name in self.line.seen.due(now, _TIDIED):
                self.line.remove(self.line.entries[name])
            self.line.age(now, _TIDIED)

    def window(self, name: str) -> AnyWindow | None:
        """Return a window as it is now."""
        window = self.windows.get(name)
        if window is not None and window.at != self.now:
            window.advance(self.now)
        return window

    def lease(self, name: str) -> Lease | None:
        """Return a lease, or what it came to."""
        lease = self._leases.get(name)
        return None if lease is None or (lease.ended and self.now >= lease.until) else lease

    def grant(
        self, asks: Sequence[tuple[str, Mapping[str, int]]], tag: int, *, dispatched: bool
    ) -> None:
        """Hold what is asked for."""
        entry = tuple([name for name, _ in asks])
        for number, (name, needs) in enumerate(asks):
            for window, need in needs.items():
                self.windows[window].take(need)
            lease = Lease(name, dict(needs), () if number else entry, tag, self.now)
            self._leases[name] = lease
            self._forgetting.drop(name)
            if dispatched:
                self._send(lease)
            else:
                for window, amount in lease.amounts.items():
                    self._count(lease, window, amount)
                self.live.set(name, self.now + GRANTED_MS)

    def dispatch(self, name: str) -> None:
        """Count a granted lease as sent."""
        lease = self.lease(name)
        if lease is not None and lease.sent is None and not lease.ended:
            self._discount(lease)
            self._send(lease)

    def _send(self, lease: Lease) -> None:
        lease.sent = self.now
        for window, amount in lease.amounts.items():
            self._count(lease, window, amount)
        self.live.set(lease.id, self.now + DISPATCHED_MS)

    def _count(self, lease: Lease, window: str, more: int) -> None:
        """Count what *lease* holds or was charged by when it was sent, for what is read later."""
        there = self.windows.get(window)
        if not more or not (there is None or there.told):
            return
        if lease.sent is None:
            if not lease.ended:
                self._unsent[window] += more
        elif lease.sent > self.now - KEPT_MS:
            self._sent[window].add(int(lease.sent), more)

    def _discount(self, lease: Lease) -> None:
        """Count *lease* no more among those that are still to be sent."""
        for window, amount in lease.amounts.items():
            self._count(lease, window, -amount)

    def renew(self, name: str) -> None:
        """Keep a live lease for another term."""
        lease = self.lease(name)
        if lease is not None and not lease.ended:
            self.live.set(name, self.now + (GRANTED_MS if lease.sent is None else DISPATCHED_MS))

    def extend(self, name: str, more: Amounts) -> None:
        """Hold *more* for a live lease."""
        lease = self.lease(name)
        if lease is None or lease.ended:
            return
        for key, amount in more.items():
            if (window := self.window(key)) is not None:
                window.extend(amount)
                lease.amounts[key] = lease.amounts.get(key, 0) + amount
                self._count(lease, key, amount)

    def charge(self, lease: Lease, charges: Amounts) -> None:
        """End *lease* with *charges*, or correct by them what it came to."""
        money = False
        amounts, ended = lease.amounts, lease.ended
        for name, charge in charges.items():
            window = self.window(name)
            old = amounts.get(name)
            if old != charge:
                self._count(lease, name, charge - (old or 0))
            if window is None:
                continue
            money = money or isinstance(window, Purse)
            if ended or old is None:
                window.correct(old or 0, charge, lease.granted)
            else:
                window.end(old, charge, lease.granted)
        amounts.update(charges)
        if not ended:
            if lease.sent is None:
                self._discount(lease)
            lease.ended = True
            self.live.drop(lease.id)
            self._keep(lease, money=money)

    def _keep(self, lease: Lease, *, money: bool) -> None:
        lease.until = self.now + (MONEY_KEPT_MS if money else KEPT_MS)
        self._leases[lease.id] = lease
        self._forgetting.set(lease.id, lease.until)

    def stranger(self, name: str) -> Lease:
        """Return a place to charge a lease that is not known here: the store was lost between."""
        lease = Lease(name, {}, (), 0, self.now, ended=True)
        self._keep(lease, money=True)
        return lease

    def free(self, lease: Lease) -> None:
        """Give all of *lease* back: it was never sent, and asked for again it is granted anew."""
        self.charge(lease, dict.fromkeys(lease.amounts, 0))
        lease.sent = None

    def _lapse(self, lease: Lease) -> None:
        """End a lease whose holder is lost: what was sent may have been used, and stays charged."""
        if lease.sent is None:
            self.ungrabbed += 1
            self.free(lease)
            return
        self.orphans += 1
        held = sorted(lease.amounts.items())
        self.charge(lease, lease.amounts)
        money = [f"{k}={v}" for k, v in held if isinstance(self.windows.get(k), Purse)]
        if money:
            self.keep_row(lease, "orphan:" + ",".join(money))

    def keep_row(self, lease: Lease, row: str) -> None:
        """Keep *row* until it is acknowledged."""
        lease.row = hash(row)
        self.rows[lease.id] = (self.now, row)

    def read(
        self, lease: Lease, readings: Sequence[WindowReading], *, refused: bool = False
    ) -> None:
        """Take in what the answer to *lease* says; windows that are not there are made of it.

        Of a call that was *refused* nothing is learned of others: what a refusal shows is used up,
        whoever did it, and that the next answers still show much says that it was not so.
        """
        if not readings:
            return
        sent_at = lease.granted if lease.sent is None else lease.sent
        for reading in readings:
            there = self.window(reading.name)
            window = read_into(there, reading, self.now) if reading.is_finite else None
            if window is None:
                continue
            self.windows[reading.name] = window
            shown = self._shown(lease, reading, sent_at, window.read_at)
            window.read(replace(shown, ended=False) if refused else shown)

    def _shown(self, lease: Lease, reading: WindowReading, sent_at: float, read_at: float) -> Shown:
        about = 0
        if reading.exact or reading.bounded:
            about = self._charged(reading.name, sent_at - ABOUT_MS, sent_at)
            about -= lease.amounts.get(reading.name, 0) if reading.exact else 0
        return Shown(
            reading.remaining,
            reading.limit,
            reading.reset_ms,
            sent_at,
            self._charged(reading.name, sent_at, self.now) + self._unsent[reading.name],
            self._charged(reading.name, read_at, sent_at),
            lease.ended,
            reading.exact,
            reading.bounded,
            about,
        )

    def _charged(self, window: str, after: float, until: float) -> int:
        """Return what the calls sent in (after, until] hold of a window, or came to."""
        sums = self._sent.get(window)
        if sums is None:
            return 0
        return sums.within(int(max(after, self.now - KEPT_MS)), int(until))
