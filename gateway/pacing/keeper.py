"""Keeps leases alive while their calls last, and looks at the pools from time to time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeAlias

import anyio
import structlog

from gateway.admission.names import dimension_of
from gateway.pacing.lease import Lease
from gateway.pacing.pacer import Pacer
from gateway.stores.ledger import PoolState, StoreLost
from gateway.upstream.account import Account

_BEAT_S: Final = 1.0
_RENEW_S: Final = 20.0
_LOOK_S: Final = 5.0
_CHARACTERS_PER_TOKEN: Final = 4
_STEP: Final = 0.25
_LEAST: Final = 16

Looked: TypeAlias = Callable[[], Awaitable[None]]
Seen: TypeAlias = Callable[[str, PoolState], None]
"""Takes in how the pool of the account of that name stands."""

_log = structlog.get_logger()


async def _unseen() -> None:
    pass


class Keeper:
    """One for the process.

    *accounts* gives all it may meet; *seen* is told of each now and then, and *looked* when that
    was tried.
    """

    def __init__(
        self,
        pacer: Pacer,
        accounts: Callable[[], Iterable[Account]],
        seen: Seen,
        looked: Looked = _unseen,
    ) -> None:
        self._pacer = pacer
        self._accounts = accounts
        self._seen = seen
        self._tried = looked
        self._looked = 0.0

    async def serve(self) -> None:
        """Do so until it is cancelled."""
        while True:
            await anyio.sleep(_BEAT_S)
            try:
                self.beat(anyio.current_time())
                if anyio.current_time() - self._looked >= _LOOK_S:
                    self._looked = anyio.current_time()
                    await self.look()
                    await self._tried()
            except Exception:  # noqa: BLE001 - one of the boundaries: a service goes on
                _log.exception("keeper.failed")

    def beat(self, now: float) -> None:
        """Renew the leases that are due, and hold more for answers that outgrow what is held."""
        due: defaultdict[str, list[str]] = defaultdict(list)
        for lease in self._pacer.live.values():
            self._extend(lease)
            if now - lease.renewed >= _RENEW_S:
                lease.renewed = now
                for pool in lease.pools():
                    due[pool].append(lease.asking.lease)
        for pool, leases in due.items():
            self._pacer.store.renew(pool, leases)

    async def look(self) -> None:
        """Learn the windows that other replicas know, and tell how all of them stand."""
        for account in tuple(self._accounts()):
            account.forget_guesses(anyio.current_time())
            try:
                state = await self._pacer.store.peek(account.pool)
            except StoreLost:
                return
            account.learn_of(state.windows)
            self._seen(account.name, state)

    def _extend(self, lease: Lease) -> None:
        """Hold a quarter more, again and again, for an answer that is longer than was thought."""
        if lease.call is None or not lease.asking.needs:
            return
        written = lease.call.characters // _CHARACTERS_PER_TOKEN
        if written <= lease.held:
            return
        more = 0
        while written > lease.held + more:
            more += max(int(_STEP * (lease.held + more)), _LEAST)
        lease.held += more
        needs = {
            name: more
            for name in lease.asking.needs
            if dimension_of(name) in {"tokens", "output_tokens"}
        }
        if needs:
            self._pacer.store.extend(lease.asking.account.pool, lease.asking.lease, needs)
