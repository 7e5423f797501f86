"""Sub-calls that one run asks for at the same moment: let through together, or not yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import anyio

from gateway.pacing.asking import Asking
from gateway.stores.ledger import Answer, LedgerStore

_MOST = 0.5
"""The part of a window that is asked for at once; more goes call by call."""


class Wave:
    """Half a panel that waits for its other half has been paid for nothing: so all go, or none.

    ``answers`` are those of the caller's pool and of the account's, None as long as nobody has
    asked for all of them, or if each is to ask for itself.
    """

    def __init__(self, first: Asking) -> None:
        self.members = [first]
        self.answers: tuple[Answer, Answer] | None = None
        self._asked = anyio.Event()
        self._gone: set[str] = set()

    @property
    def entry(self) -> str:
        """Its name in the line."""
        return self.members[0].lease

    def fits(self) -> bool:
        """Return whether it is more than one call, and not too much at once."""
        total: Counter[str] = Counter()
        for member in self.members:
            total.update(member.needs)
        caps: Mapping[str, int] = self.members[0].account.caps()
        small = all(amount <= _MOST * caps.get(name, 0) for name, amount in total.items())
        return len(self.members) > 1 and small

    def settled(self) -> None:
        """Note that it has been asked for, or that it will not be."""
        self._asked.set()

    async def asked(self) -> None:
        """Wait until it is settled whether all are asked for together."""
        await self._asked.wait()

    def leave(self, store: LedgerStore, asking: Asking) -> None:
        """Take one call out: its lease comes back when the others' are granted."""
        self._gone.add(asking.lease)
        if len(self._gone) == len(self.members):
            store.leave(asking.account.pool, self.entry)

    def granted(self, store: LedgerStore) -> None:
        """Give back the leases of the calls that nobody wants any more."""
        for member in self.members:
            if member.lease in self._gone:
                store.cancel(member.account.pool, member.lease)
        self._gone.clear()
