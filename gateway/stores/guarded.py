"""A shared ledger that may be lost: what goes on by itself then, and what is closed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, TypeVar

import anyio
import structlog

from gateway.admission.names import is_money
from gateway.stores.ledger import (
    Amounts,
    Answer,
    Entry,
    LedgerStore,
    PoolState,
    Refusal,
    Settlement,
    StoreLost,
    Unknown,
    Waiting,
    WindowReading,
    WindowSpec,
)
from gateway.stores.memory import MemoryLedger

OnLoss: TypeAlias = Literal["closed", "local"]
Told: TypeAlias = Callable[[Literal["lost", "back"]], None]
"""Is told when the shared ledger is lost, and when it is back."""
Timed: TypeAlias = Callable[[str, float, Literal["done", "failed"]], None]
"""Is told of each operation of the shared ledger how many seconds it took, and how it ended."""

_SHARE: Final = 0.8
_FIRST_S: Final = 1.0
_LONGEST_S: Final = 5.0
_TRIES: Final = 4
"""One answer that is late is a busy moment, here or there. All that is asked may be repeated."""
_UPSTREAM: Final = "up:"

T = TypeVar("T")
_log = structlog.get_logger()


def _untold(_how: Literal["lost", "back"]) -> None:
    pass


def _untimed(_operation: str, _seconds: float, _end: Literal["done", "failed"]) -> None:
    pass


@dataclass(frozen=True, slots=True)
class LossPolicy:
    """What becomes of calls that need a window, or money, while the store is lost.

    ``told`` is told of each loss and of its end, ``timed`` of each operation.
    """

    windows: OnLoss = "local"
    budgets: OnLoss = "closed"
    told: Told = _untold
    timed: Timed = _untimed


class GuardedLedger:
    """The *shared* ledger, and a ledger of this process alone for as long as that is lost.

    Alone, it lets through four fifths of its share of each window: what is left over is for what
    was under way. *replicas* tells how many share. The shared one is asked again after a second,
    then less often, up to every five. When it is back, all windows start as if nothing were known
    of them, so that nobody's burst is anybody's refusal.

    Attributes:
        lost: Whether the shared ledger is lost now.
        losses: How often an operation found it so.
    """

    def __init__(
        self,
        shared: LedgerStore,
        policy: LossPolicy,
        replicas: Callable[[], int],
        clock: Callable[[], int] | None = None,
    ) -> None:
        self.shared = shared
        self.lost = False
        self.losses = 0
        self._policy = policy
        self._replicas = replicas
        self._clock = clock
        self._local = self._alone()
        self._here: set[str] = set()
        self._ask_at = 0.0
        self._pause_s = _FIRST_S
        self._known: set[str] = set()
        self._stale: set[str] = set()

    def _alone(self) -> MemoryLedger:
        share = _SHARE / max(self._replicas(), 1)
        if self._clock is None:
            return MemoryLedger(share=share)
        return MemoryLedger(self._clock, share=share)

    @property
    def dropped(self) -> int:
        """How many operations the shared ledger was never told of."""
        return getattr(self.shared, "dropped", 0)

    async def define(self, pool: str, windows: Sequence[WindowSpec]) -> None:
        """See ``LedgerStore``."""
        await self._either(
            "define",
            lambda: self.shared.define(pool, windows),
            lambda: self._local.define(pool, windows),
        )

    async def admit(self, pool: str, entry: Entry, *, dispatched: bool = False) -> Answer:
        """See ``LedgerStore``.

        Raises:
            StoreLost: It is, and what *entry* needs is closed then.
        """
        if self._is_stale(pool):
            return Unknown("")

        async def here() -> Answer:
            self._must_be_open(entry)
            self._here.update(ask.lease for ask in entry.asks)
            return await self._local.admit(pool, entry, dispatched=dispatched)

        return await self._either(
            "admit", lambda: self.shared.admit(pool, entry, dispatched=dispatched), here
        )

    async def admit_both(
        self, first: tuple[str, Entry], second: tuple[str, Entry], *, dispatched: bool = False
    ) -> tuple[Answer, Answer]:
        """See ``LedgerStore`` and ``admit``."""

        async def here() -> tuple[Answer, Answer]:
            for _, entry in (first, second):
                self._must_be_open(entry)
                self._here.update(ask.lease for ask in entry.asks)
            return await self._local.admit_both(first, second, dispatched=dispatched)

        if self._is_stale(second[0]):
            return await self.admit(*first, dispatched=dispatched), Unknown("")
        return await self._either(
            "admit", lambda: self.shared.admit_both(first, second, dispatched=dispatched), here
        )

    async def check(self, pool: str, entry: str) -> Answer:
        """See ``LedgerStore``. Who stood in a line that is lost, stands in none."""
        if entry in self._here:
            if self.lost and anyio.current_time() >= self._ask_at:
                await self.peek(pool)  # else a pool in which all wait would not see it come back
            answer = await self._local.check(pool, entry)
            if self.lost or not isinstance(answer, Waiting):
                return answer
            self.leave(pool, entry)  # to stand in the line of all: what is shared is back
            return Unknown("")

        async def here() -> Answer:
            return Unknown("")

        return await self._either("check", lambda: self.shared.check(pool, entry), here)

    async def wait(self, pool: str, entry: str, timeout_s: float) -> None:
        """See ``LedgerStore``."""
        await self._holder(entry).wait(pool, entry, timeout_s)

    async def peek(self, pool: str) -> PoolState:
        """See ``LedgerStore``."""
        return await self._either(
            "peek", lambda: self.shared.peek(pool), lambda: self._local.peek(pool)
        )

    async def rows(self, pool: str, most: int, older_ms: int) -> Sequence[tuple[str, str]]:
        """See ``LedgerStore``."""
        return await self.shared.rows(pool, most, older_ms)

    def leave(self, pool: str, entry: str) -> None:
        """See ``LedgerStore``."""
        self._holder(entry).leave(pool, entry)
        self._here.discard(entry)

    def dispatch(self, pool: str, leases: Sequence[str]) -> None:
        """See ``LedgerStore``."""
        for lease in leases:
            self._holder(lease).dispatch(pool, (lease,))

    def renew(self, pool: str, leases: Sequence[str]) -> None:
        """See ``LedgerStore``."""
        here = [lease for lease in leases if lease in self._here]
        if here:
            self._local.renew(pool, here)
        if len(here) < len(leases):
            self.shared.renew(pool, [lease for lease in leases if lease not in self._here])

    def extend(self, pool: str, lease: str, more: Amounts) -> None:
        """See ``LedgerStore``."""
        self._holder(lease).extend(pool, lease, more)

    def tell(self, pool: str, lease: str, readings: Sequence[WindowReading]) -> None:
        """See ``LedgerStore``."""
        self._holder(lease).tell(pool, lease, readings)

    def settle(self, pool: str, settlement: Settlement) -> None:
        """See ``LedgerStore``."""
        self._holder(settlement.lease).settle(pool, settlement)
        self._here.discard(settlement.lease)

    def cancel(self, pool: str, lease: str) -> None:
        """See ``LedgerStore``."""
        self._holder(lease).cancel(pool, lease)
        self._here.discard(lease)

    def reject(self, pool: str, refusal: Refusal) -> None:
        """See ``LedgerStore``."""
        self._holder(refusal.lease).reject(pool, refusal)
        self._here.discard(refusal.lease)

    def acknowledge(self, pool: str, leases: Sequence[str]) -> None:
        """See ``LedgerStore``."""
        self.shared.acknowledge(pool, leases)

    def _holder(self, lease: str) -> LedgerStore:
        return self._local if lease in self._here else self.shared

    async def _either(
        self, operation: str, shared: Callable[[], Awaitable[T]], here: Callable[[], Awaitable[T]]
    ) -> T:
        if not self.lost or anyio.current_time() >= self._ask_at:
            if self.lost:  # only who looks whether it is back waits for that
                self._ask_at = anyio.current_time() + self._pause_s
            missed = StoreLost("")
            for _ in range(1 if self.lost else _TRIES):
                began = anyio.current_time()
                try:
                    answer = await shared()
                except StoreLost as lost:
                    missed = lost
                    self._policy.timed(operation, anyio.current_time() - began, "failed")
                    continue
                self._policy.timed(operation, anyio.current_time() - began, "done")
                self._note_answer()
                return answer
            self._note_loss(missed)
        return await here()

    def _note_loss(self, lost: StoreLost) -> None:
        if not self.lost:
            self.lost, self.losses = True, self.losses + 1
            self._pause_s = _FIRST_S
            self._local = self._alone()
            self._policy.told("lost")
            why = str(lost.__cause__ or lost)
            policy = self._policy
            _log.warning("store.lost", why=why, budgets=policy.budgets, windows=policy.windows)
        else:
            self._pause_s = min(2 * self._pause_s, _LONGEST_S)
        self._ask_at = anyio.current_time() + self._pause_s

    def _note_answer(self) -> None:
        if self.lost:
            self.lost = False
            self._stale = self._known
            self._known = set()
            self._policy.told("back")
            _log.warning("store.back")

    def _is_stale(self, pool: str) -> bool:
        """Return whether *pool* has to be defined anew, and that it is being so."""
        if self.lost:
            self._known.add(pool)
            return False
        if pool not in self._stale:
            return False
        self._stale.discard(pool)
        return pool.startswith(_UPSTREAM)

    def _must_be_open(self, entry: Entry) -> None:
        for ask in entry.asks:
            for name in ask.needs:
                policy = self._policy.budgets if is_money(name) else self._policy.windows
                if policy == "closed":
                    raise StoreLost(name)
