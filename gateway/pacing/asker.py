"""Asks the ledger for what a request's sub-calls need: in one round trip, and together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import anyio

from gateway.admission.names import is_money
from gateway.pacing import errors
from gateway.pacing.asking import Asking
from gateway.pacing.purse import Purse
from gateway.pacing.standing import Standing
from gateway.pacing.wave import Wave
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.ledger import (
    Answer,
    Ask,
    Entry,
    Granted,
    LedgerStore,
    Place,
    StoreLost,
    Unknown,
    Waiting,
    WindowSpec,
)
from gateway.upstream.account import is_probe

_TRIES: Final = 3
_FREE: Final = Granted()
_AT_ONCE: Final = Place(queue=False)


class Asker:
    """One for a request.

    Attributes:
        taken: What the request as a whole takes of its caller's windows is held, or is nothing.
        tag: Its place among equals, which it keeps when it has to ask again.
    """

    __slots__ = ("_observes", "_purse", "_standing", "_waves", "store", "tag", "taken")

    def __init__(
        self, store: LedgerStore, standing: Standing, purse: Purse, *, observes: bool
    ) -> None:
        self.store = store
        self.taken = not purse.for_request()
        self.tag: float | None = None
        self._standing = standing
        self._purse = purse
        self._observes = observes
        self._waves: dict[str, Wave] = {}

    @property
    def request_lease(self) -> str:
        """The lease of what the request as a whole takes."""
        return f"{self._standing.run}-r"

    async def ask_with_others(self, asking: Asking) -> tuple[Wave | None, tuple[Answer, Answer]]:
        """Ask for *asking*, together with what the run asks of this account at the same moment."""
        if self._standing.use == "none" or not asking.needs:
            return None, await self.ask([asking])
        pool = asking.account.pool
        wave = self._waves.get(pool)
        if wave is None:
            wave = self._waves[pool] = Wave(asking)
            try:
                await anyio.lowlevel.checkpoint()  # the others, started with it, come meanwhile
                del self._waves[pool]
                if wave.fits():
                    wave.answers = await self._ask_all(wave)
            finally:
                self._waves.pop(pool, None)
                wave.settled()
        else:
            wave.members.append(asking)
            await wave.asked()
        if wave.answers is None:
            return None, await self.ask([asking])
        return wave, wave.answers

    async def _ask_all(self, wave: Wave) -> tuple[Answer, Answer] | None:
        """Ask for all of *wave*; None: its money is held by others, and each asks for itself.

        What the account has granted them others could use meanwhile.
        """
        own, theirs = await self.ask(wave.members)
        if not (isinstance(own, Waiting) and is_money(own.binding)):
            return own, theirs
        self.store.leave(wave.members[0].account.pool, wave.entry)
        for member in wave.members:
            self.give_back(member)
        return None

    async def ask(self, askings: Sequence[Asking]) -> tuple[Answer, Answer]:
        """Ask the caller's pool and the account's, in one round trip; define what they lack."""
        own, theirs = self._own_entry(askings), self._entry(askings)
        first = askings[0]
        if own is not None and not self._purse.is_sized:
            await self._size(first.purse)
        for _ in range(_TRIES):
            try:
                answers = await self._both(first, own, theirs)
                if isinstance(answers[0], Unknown):
                    await self._define(first.purse, self._purse.windows)
                elif isinstance(answers[1], Unknown):
                    await self._define(first.account.pool, _cold(first))
                else:
                    return answers
            except StoreLost as lost:
                raise errors.store_lost() from lost
        raise errors.store_lost()

    def give_back(self, asking: Asking) -> None:
        """Leave the line of the account, and give back what it granted.

        What it granted counts as sent from then on, for that saves a round trip.
        """
        if asking.needs:
            self.store.leave(asking.account.pool, asking.lease)
            self.store.cancel(asking.account.pool, asking.lease)

    async def _size(self, pool: str) -> None:
        """Give the windows of a caller who is new here, or has changed, the sizes stated now."""
        purse = self._purse
        try:
            there, sizes = await self.store.peek(pool), purse.sizes()
            if any(it.cap != sizes.get(it.name, it.cap) for it in there.windows):
                await self.store.define(pool, await purse.windows())
        except (StoreLost, DatabaseLost):
            return  # what held before holds on, and the next call tries again
        purse.is_sized = True

    async def _both(
        self, asking: Asking, own: Entry | None, theirs: Entry | None
    ) -> tuple[Answer, Answer]:
        store, pool = self.store, asking.account.pool
        if own is None and theirs is None:
            return _FREE, _FREE
        if own is None:
            assert theirs is not None
            return _FREE, await store.admit(pool, theirs, dispatched=True)
        if theirs is None:
            return await store.admit(asking.purse, own, dispatched=True), _FREE
        return await store.admit_both((asking.purse, own), (pool, theirs), dispatched=True)

    async def _define(self, pool: str, windows: Callable[[], Awaitable[list[WindowSpec]]]) -> None:
        try:
            specs = await windows()
        except DatabaseLost as lost:
            raise errors.database_lost() from lost
        await self.store.define(pool, specs)

    def _own_entry(self, askings: Sequence[Asking]) -> Entry | None:
        asks = []
        if not self.taken:
            asks.append(Ask(self.request_lease, self._purse.for_request()))
        for asking in askings:
            if asking.own:
                asks.append(Ask(asking.lease, asking.own))
        return Entry(tuple(asks), _AT_ONCE) if asks else None

    def _entry(self, askings: Sequence[Asking]) -> Entry | None:
        asks = [Ask(asking.lease, asking.needs) for asking in askings if asking.needs]
        if not asks:
            return None
        standing = self._standing
        place = Place(
            standing.priority,
            standing.tenant,
            standing.weight,
            int(1000 * standing.waited_s()),
            self.tag,
            not (self._observes or any(map(is_probe, askings[0].needs))),
        )
        return Entry(tuple(asks), place)


def _cold(asking: Asking) -> Callable[[], Awaitable[list[WindowSpec]]]:
    async def windows() -> list[WindowSpec]:
        return asking.account.cold(asking.needs)

    return windows
