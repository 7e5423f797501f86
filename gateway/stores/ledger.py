"""The ledger of windows that replicas share: what it keeps, and what can be asked of it.

Times are milliseconds; amounts are in the window's own unit (requests, tokens, picodollars).
What is made for each call is a named tuple, which is cheap to make.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

from gateway.admission.left import Left

Kind: TypeAlias = Literal["bucket", "fixed", "gauge", "never"]
"""How a window comes back: continuously, at its boundary, on release, or not at all (money)."""

Amounts: TypeAlias = Mapping[str, int]
"""Window name to amount."""

_NOTHING: Final[Amounts] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """A window as it is defined.

    Attributes:
        name: Unique in its pool.
        cap: What it holds when full.
        period_ms: Of a bucket the time to refill *cap*, of a fixed window its length, else 0.
        ends_in_ms: Of a fixed window: until its boundary.
        level: What is there at most until the next reading tells; None: all that can be.
        used: Of money: what was spent before, as the database knows it.
        provisional: Learned from a refusal; a reading or a definition that is not replaces it.
        told: Answers may tell what is left of it.
    """

    name: str
    kind: Kind
    cap: int
    period_ms: int = 0
    ends_in_ms: int = 0
    level: float | None = None
    used: int = 0
    provisional: bool = False
    told: bool = True


class WindowReading(NamedTuple):
    """What an answer said of a window; None: not said. One that is not there yet is made of it.

    Calls in flight have still to be deducted nothing (``exact``), or what they hold (``bounded``).
    """

    name: str
    remaining: float | None
    limit: float | None = None
    kind: Kind = "bucket"
    period_ms: int = 60_000
    reset_ms: int | None = None
    exact: bool = False
    bounded: bool = False

    @property
    def is_finite(self) -> bool:
        """Whether its numbers are some; of others nothing is learned."""
        left, limit = self.remaining, self.limit
        return (left is None or isfinite(left)) and (limit is None or isfinite(limit))


class Ask(NamedTuple):
    """One lease that is asked for. ``lease`` is unique for ever; asking again gives the same."""

    lease: str
    needs: Amounts


class Place(NamedTuple):
    """Whose entry it is, and how urgent.

    Attributes:
        priority: 0 to 9, 0 first.
        tenant: Who shares with others in proportion to ``weight``.
        since_ms: How long it has waited already, by which it ages.
        tag: Its place among equals, as an earlier answer gave it; None the first time.
        queue: Whether it waits in line if it does not fit; else it leaves no trace.
    """

    priority: int = 5
    tenant: str = ""
    weight: float = 1.0
    since_ms: int = 0
    tag: float | None = None
    queue: bool = True


class Entry(NamedTuple):
    """What is admitted together, all or nothing. ``id`` is that of its first lease."""

    asks: tuple[Ask, ...]
    place: Place = Place()

    @property
    def id(self) -> str:
        """Its name in the queue."""
        return self.asks[0].lease


class Granted(NamedTuple):
    """All is held; ``left`` is of the windows of rates it is held in. For ``tag`` see ``Place``."""

    tag: float = 0.0
    left: tuple[Left, ...] = ()


@dataclass(frozen=True, slots=True)
class Waiting:
    """It waits.

    Attributes:
        eta_ms: Until it can probably go, by windows and who is before it; None: until a release.
        position: How many are before it.
        binding: The window that it waits for.
        tag: See ``Place``.
    """

    eta_ms: int | None
    position: int
    binding: str
    tag: float = 0.0


@dataclass(frozen=True, slots=True)
class Never:
    """It cannot be granted, however long it waits: a window is too small, or money is used up."""

    binding: str
    left: int = 0


@dataclass(frozen=True, slots=True)
class Unknown:
    """A window is not defined here: after a start, or where all was lost."""

    window: str


@dataclass(frozen=True, slots=True)
class QueueFull:
    """The queue, or this tenant's part of it, takes no more."""

    tenant: bool


Answer: TypeAlias = Granted | Waiting | Never | Unknown | QueueFull


class Settlement(NamedTuple):
    """How a lease ended.

    Attributes:
        used: What each window is charged; one that is not named is charged what was held. Gauges
            come back whole.
        readings: What the answer said, if it was told before too: only now is drain learned of it.
        row: What is to be kept with the charge until the database has it, None for nothing.
    """

    lease: str
    used: Amounts = _NOTHING
    readings: Sequence[WindowReading] = ()
    row: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """An upstream's 429 to a lease.

    ``window`` is the one that was full; None, not said: all rate windows of the lease.
    ``counts``: the provider counts refused requests too, so they do not come back.
    """

    lease: str
    window: str | None
    retry_after_ms: int | None
    readings: Sequence[WindowReading] = ()
    counts: bool = False


@dataclass(frozen=True, slots=True)
class WindowState:
    """A window now. ``rate`` and ``drain`` are per second; ``level`` of money is what is left."""

    name: str
    kind: Kind
    cap: int
    level: float
    margin: float
    rate: float
    drain: float
    blocked_ms: int
    ends_in_ms: int | None
    held: int
    provisional: bool


@dataclass(frozen=True, slots=True)
class PoolState:
    """All windows of a pool, how many wait in it, its leases, and what became of lost ones."""

    windows: tuple[WindowState, ...]
    queued: int
    leases: int
    orphans: int
    ungrabbed: int


class StoreLost(Exception):
    """The store did not answer in time, or not at all."""


class LedgerStore(Protocol):
    """The ledger. Every operation is atomic over one pool.

    Waited operations raise ``StoreLost``. Those that return None are carried out soon and in order.
    """

    async def define(self, pool: str, windows: Sequence[WindowSpec]) -> None:
        """Make windows, or change their size. What is there is never made more by it.

        A window of money that exists keeps what was spent of it.
        """
        ...

    async def admit(self, pool: str, entry: Entry, *, dispatched: bool = False) -> Answer:
        """Grant *entry*, or queue it. With *dispatched* what is granted at once counts as sent."""
        ...

    async def admit_both(
        self, first: tuple[str, Entry], second: tuple[str, Entry], *, dispatched: bool = False
    ) -> tuple[Answer, Answer]:
        """Do both in one round trip; neither depends on the other."""
        ...

    async def check(self, pool: str, entry: str) -> Answer:
        """Return how a queued entry stands. Unknown: it is not queued here (any more)."""
        ...

    async def wait(self, pool: str, entry: str, timeout_s: float) -> None:
        """Return when *entry* may have been granted, or after *timeout_s*."""
        ...

    def leave(self, pool: str, entry: str) -> None:
        """Take *entry* out of the queue; what was granted to it comes back."""
        ...

    def dispatch(self, pool: str, leases: Sequence[str]) -> None:
        """The calls are being sent: from here a lost holder keeps its charge."""
        ...

    def renew(self, pool: str, leases: Sequence[str]) -> None:
        """Keep leases alive."""
        ...

    def extend(self, pool: str, lease: str, more: Amounts) -> None:
        """Hold *more* for a lease, also beyond what is there: it is being used."""
        ...

    def tell(self, pool: str, lease: str, readings: Sequence[WindowReading]) -> None:
        """Take in what the answer to a dispatched lease says of the windows, while it goes on."""
        ...

    def settle(self, pool: str, settlement: Settlement) -> None:
        """Charge what was used and give back the rest. A later one corrects an earlier."""
        ...

    def cancel(self, pool: str, lease: str) -> None:
        """Give all of a lease back: it was never sent."""
        ...

    def reject(self, pool: str, refusal: Refusal) -> None:
        """Take in an upstream's 429, and give the lease back."""
        ...

    async def peek(self, pool: str) -> PoolState:
        """Return how a pool stands."""
        ...

    async def rows(self, pool: str, most: int, older_ms: int) -> Sequence[tuple[str, str]]:
        """Return up to *most* rows that were kept with charges: (lease, row), *older_ms* at least.

        A dispatched lease of money that was lost has the row ``orphan:<window>=<amount>,...``.
        """
        ...

    def acknowledge(self, pool: str, leases: Sequence[str]) -> None:
        """The rows of these leases are in the database."""
        ...
