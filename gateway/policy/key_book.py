"""Keys of the configuration and of the database together: found in memory, known at once.

Every replica looks twice a second whether anything has changed, and at once when it is told so. It
looks before it refuses a key that it does not know or that has expired, too, for that may just
have been made, or prolonged, elsewhere; how often is bounded, so that guessing keys is no load on
the database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import anyio
import structlog

from gateway.clock import utc_now
from gateway.policy.callers import budget_of, recorded
from gateway.policy.keys import NOT_VALID, OPEN, Caller, KeyRing, still_valid
from gateway.policy.nearby import must_be_near
from gateway.reasons import why_of
from gateway.stores.changes import Changes
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.database.owners import OwnerTables
from gateway.stores.database.records import Changed
from techniques.core.errors import Unauthenticated, Unavailable

_EVERY_S: Final = 0.5
_LOOK_S: Final = 2.0
_PER_SECOND: Final = 50.0
_MOST_REFUSED: Final = 10_000

_CLOSED: Final = "The first key was made: calls without one are refused from now on."
_NO_SECRET: Final = (
    "Keys cannot be checked: the gateway was started without LOCKGATE_KEY_SECRET, the secret that "
    "they were made with."
)

_log = structlog.get_logger()


@dataclass(slots=True)
class _Allowance:
    """How often something may be done: *rate* times in a second.

    Source: token bucket, as in RFC 2697.
    """

    rate: float
    left: float = 0.0
    at: float = float("-inf")

    def take(self) -> bool:
        """Return whether it may be done once more now."""
        now = anyio.current_time()
        self.left = min(self.left + (now - self.at) * self.rate, self.rate)
        self.at = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


class KeyBook:
    """Who calls. With no key at all, neither configured nor ever made, everyone is let in."""

    def __init__(
        self,
        secret: str | None,
        configured: Iterable[tuple[str, Caller]],
        owners: OwnerTables,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._ring = KeyRing(secret or "", configured)
        self._owners = owners
        self._now = now
        self._secret = secret or ""
        self._open = not len(self._ring)
        self._had_some = False
        self._number = 0
        self._kept: dict[str, tuple[str, Caller]] = {}
        self._refused: dict[bytes, float] = {}
        self._allowance = _Allowance(_PER_SECOND)
        self._turn = anyio.Lock()  # what was read later must not be overwritten by what was before
        self._looks = 0
        self._stale = False

    @property
    def is_open(self) -> bool:
        """Whether everyone is let in."""
        return self._open

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        """Return who calls.

        Raises:
            Unauthenticated: There is no key, none of ours, or one that has expired.
            Denied: There are no keys, and it is a page from elsewhere.
            Unavailable: The key is not known here, and the database does not answer; or no key can
                be, as the first was made after a start without a secret.
        """
        if self._open and not await self._has_closed(headers):
            must_be_near(headers)
            return OPEN
        digest = self._ring.digest_in(headers)
        caller = self._ring.find(digest)
        if caller is None:
            caller = await self._look(digest)
        elif self._is_over(caller):  # it may just have been given more time
            with suppress(Unavailable):
                caller = await self._look(digest) or caller
        if caller is None and not self._secret:
            raise Unavailable(_NO_SECRET)
        if caller is None:
            raise Unauthenticated(NOT_VALID)
        return still_valid(caller, self._now)

    def named(self, name: str | None) -> Caller | None:
        """Return whose key is called *name*, None if there is no such key any more."""
        if name is None:
            return OPEN if self._open else None
        return self._ring.named(name)

    def configure(self, configured: Iterable[tuple[str, Caller]]) -> None:
        """Let in, beside those of the database, who is *configured* now, and none of before."""
        ring = KeyRing(self._secret, configured)
        self._open = not (len(ring) or self._had_some)
        for hashed, caller in self._kept.values():
            ring.put(hashed, caller)
        self._ring = ring
        self._refused.clear()

    async def refresh(self) -> None:
        """Take in what has changed.

        Raises:
            DatabaseLost: It cannot be read.
            TimeoutError: It cannot be read in time.
        """
        async with self._turn:
            await self._refresh()

    async def run(self, changes: Changes) -> None:
        """Take in what changes, at the latest a second after it did, until cancelled."""
        async with changes.subscribe() as wait:
            while True:
                await wait(_EVERY_S)
                try:
                    await self.refresh()
                except (DatabaseLost, TimeoutError) as error:
                    if not self._stale:
                        _log.warning("keys.stale", reason=why_of(error))
                    self._stale = True
                else:
                    self._stale = False

    async def _has_closed(self, headers: Mapping[str, str]) -> bool:
        """Return whether the first key has just been made; it is looked for if one comes."""
        with suppress(Unauthenticated, Unavailable):
            await self._look(self._ring.digest_in(headers))
        return not self._open

    async def _look(self, digest: bytes) -> Caller | None:
        """Return whose key this is, by what the database knows now."""
        now, looks = anyio.current_time(), self._looks
        if self._refused.get(digest, now) > now:
            return None
        try:
            async with self._turn:
                if looks == self._looks:  # nobody has looked since it was asked for
                    if not self._allowance.take():
                        return None
                    await self._refresh()
        except (DatabaseLost, TimeoutError) as error:
            raise Unavailable("Keys cannot be looked up now; send the request again.") from error
        found = self._ring.find(digest)
        if found is None or self._is_over(found):
            if len(self._refused) >= _MOST_REFUSED:
                self._refused.clear()
            self._refused[digest] = now + _EVERY_S
        return found

    def _is_over(self, caller: Caller) -> bool:
        return caller.expires is not None and caller.has_expired(self._now())

    async def _refresh(self) -> None:
        self._looks += 1
        with anyio.fail_after(_LOOK_S, shield=True):  # a connection cut off in the middle is lost
            changed = await self._owners.changes(self._number)
        if changed.number != self._number:
            self._refused.clear()
            self._take(changed)
            self._number = changed.number

    def _take(self, changed: Changed) -> None:
        budgets = [budget_of(record) for record in changed.budgets]
        if self._open and changed.keys and self._looks > 1:  # not at the start, which tells itself
            _log.warning("keys.closed", reason=_CLOSED if self._secret else _NO_SECRET)
        for record in changed.keys:
            self._open, self._had_some = False, True
            if (old := self._kept.pop(record.name, None)) is not None:
                self._ring.remove(old[0])
            if record.revoked_at is None:
                caller = recorded(record, budgets)
                self._ring.put(record.hash, caller)
                self._kept[record.name] = record.hash, caller
