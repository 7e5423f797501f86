"""What one sub-call holds of its account's windows and of its caller's, until it has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol

import anyio

from gateway.admission.health import Health
from gateway.admission.limits import read
from gateway.admission.names import is_money
from gateway.admission.need.charge import charged
from gateway.admission.need.value import Fit
from gateway.admission.reading import NOTHING_TOLD, Told
from gateway.clock import loop_time, utc_now
from gateway.metering.facts import MoneyMet
from gateway.metering.ledger import CallFinished, HeaderUnread, Ledger, LimitHit, NeedMet
from gateway.metering.meters.durable import Whose, row_of
from gateway.pacing.asking import NONE, Asking
from gateway.pacing.refusals import refused
from gateway.stores.database.rows import packed
from gateway.stores.ledger import Amounts, LedgerStore, Settlement, WindowReading
from gateway.stores.readings import readings as read_windows
from gateway.upstream.faults import lacks_model
from gateway.upstream.head import Head
from techniques.core.errors import RequestRejected, UpstreamFailed

_LIMITED: Final = 429
_COUNTED: Final = ":requests:60"
_UP: Final = frozenset({"rejected", "unknown_model", "context_overflow", "authentication", "quota"})
"""Failures that a provider which is up answers with, and charges no tokens for."""


class Watched(Protocol):
    """A call under way: ``characters`` is how many it has written so far."""

    characters: int


class Keeping(Protocol):
    """What a lease needs of whoever paces: the store, and to be told how it ended."""

    store: LedgerStore

    def learn(self, asking: Asking, row: CallFinished) -> Fit | None:
        """Take in how a sub-call ended; return how its need compares, where that is known."""
        ...

    def ended(self, asking: Asking) -> None:
        """Note that a call has ended."""
        ...


class Lease:
    """A sub-call that was let through. It ends exactly once, however the call does.

    ``call`` is what is under way, ``held`` the output tokens that are held for it, ``renewed`` when
    it was last kept alive (a time of ``anyio.current_time``).
    """

    __slots__ = (
        "_keeping",
        "_ledger",
        "_passed_on",
        "_skims",
        "_store",
        "_told",
        "_whose",
        "asking",
        "call",
        "held",
        "renewed",
    )

    def __init__(self, asking: Asking, keeping: Keeping, ledger: Ledger, whose: Whose) -> None:
        self.asking = asking
        self.call: Watched | None = None
        self.held = asking.need.output
        self.renewed = 0.0
        self._keeping = keeping
        self._store = keeping.store
        self._ledger = ledger
        self._whose = whose
        self._told: Sequence[WindowReading] | None = None
        self._passed_on = False
        self._skims = False

    def pools(self) -> Iterator[str]:
        """Yield the pools in which it holds something."""
        if self.asking.needs:
            yield self.asking.account.pool
        if self.asking.own:
            yield self.asking.purse

    def heard(self, head: Head | None, *, lasts: bool) -> None:
        """Take in the head of the answer, which has begun.

        What it tells of limits is passed on now if the answer *lasts*, else when it has ended. Of
        very many answers a part is enough: see ``Crowd``.
        """
        if head is None:
            return
        self._health().began()
        self._skims = self.asking.account.crowd.is_skimmed(loop_time())
        if self._skims:
            self.asking.account.has_answered()
            self._told = ()
            return
        self._told = self._heard_out(head)
        if lasts and self._told and self.asking.needs:
            self._passed_on = True
            self._store.tell(self.asking.account.pool, self.asking.lease, self._told)

    def answered(self, row: CallFinished, head: Callable[[], Head | None]) -> None:
        """End it: the answer came to an end, or nobody waits for more of it."""
        asking = self.asking
        self._keeping.ended(asking)
        health = asking.account.health(asking.model)
        match row.outcome:
            case "ok":
                health.succeeded()
            case "client_disconnect" | "cancelled":
                health.withdraw()
            case _:
                health.failed(anyio.current_time())
        asking.account.recent.add(loop_time(), row.usage.total_tokens)
        fit = None if self._skims else self._keeping.learn(asking, row)
        if fit is not None:
            self._ledger.record(NeedMet(asking.label, fit.held, fit.used, fit.output_missed))
        # again: what others took is learned only when it is known what this call did
        readings = self._heard_out(head()) if self._told is None else self._told
        if self._passed_on:  # what it said of the time until then is no longer so
            readings = [one._replace(reset_ms=None) for one in readings]
        self._settle(row, self._charged(row), readings)

    async def failed(
        self, error: BaseException, row: CallFinished | None, head: Head | None
    ) -> None:
        """End it: nothing of an answer came."""
        self._keeping.ended(self.asking)
        if row is None or isinstance(error, RequestRejected):
            self.cancel()
        elif isinstance(error, UpstreamFailed):
            await self._refused(error, row, head)
        else:
            self._health().withdraw()
            self._settle(row, NONE, self._readings(self._read(head)))

    def cancel(self) -> None:
        """End it: the call was not made."""
        asking = self.asking
        asking.account.has_failed()
        self._health().withdraw()
        if asking.needs:
            self._store.cancel(asking.account.pool, asking.lease)
        if asking.own:
            self._store.cancel(asking.purse, asking.lease)

    async def _refused(self, error: UpstreamFailed, row: CallFinished, head: Head | None) -> None:
        asking, now = self.asking, anyio.current_time()
        told = self._read(head)
        readings = self._readings(told)
        if head is not None and head.status == _LIMITED and error.kind == "rate_limited":
            self._health().refused(now, error.retry_after or 0.0)
            self._hit()
            if told is None or told.retry_after_s is None:
                told = (told or NOTHING_TOLD)._replace(retry_after_s=error.retry_after)
            await refused(self._store, asking, told, readings)
            self._settle_own(row)
            return
        if error.kind in _UP:
            # a name that ends in * is the client's word: there may never have been such a model
            gone = error.kind == "unknown_model" and lacks_model(error.said)
            gone = gone and not asking.label.endswith("*")
            self._health().gone(now) if gone else self._health().succeeded()
            self._settle(row, {name: 0 for name in asking.needs if ":requests:" not in name})
            return
        if error.kind == "overloaded":
            self._health().overloaded(now)
        else:
            self._health().failed(now)
        if head is None and error.kind == "transport":  # it never got there
            self._store.cancel(asking.account.pool, asking.lease)
            self._settle_own(row)
            return
        self._settle(row, NONE, readings)

    def _health(self) -> Health:
        return self.asking.account.health(self.asking.model)

    def _hit(self) -> None:
        asking = self.asking
        asking.account.has_tightened()
        hit = LimitHit(asking.label, asking.account.name, expected=not asking.needs)
        self._ledger.record(hit)

    def _read(self, head: Head | None) -> Told | None:
        """Return what the head tells, and note that the account has answered."""
        account = self.asking.account
        if head is None:
            account.has_failed()
            return None
        account.has_answered()
        told = read(
            account.vendor,
            head.headers,
            status=head.status,
            now=utc_now().timestamp(),
            body=head.body,
        )
        for header in told.unparsed:
            self._ledger.record(HeaderUnread(account.name, header))
        return told

    def _readings(self, told: Told | None) -> Sequence[WindowReading]:
        if told is None or not told.readings:
            return ()
        asking = self.asking
        readings = asking.account.placed(read_windows(told, asking.model))
        asking.account.learn(readings)
        return readings

    def _heard_out(self, head: Head | None) -> Sequence[WindowReading]:
        """Return what an answer tells of windows, as far as it is believed."""
        readings = self._readings(self._read(head))
        return self.asking.account.zeros.believed(readings, self.asking.needs) if readings else ()

    def _charged(self, row: CallFinished) -> Amounts:
        """Return what the windows of the account are charged with.

        What a caller allowed counts as far as it was held: no window lets more of it in.
        """
        asking = self.asking
        account, traits = asking.account, None if asking.call is None else asking.call.traits
        if not asking.needs or traits is None:
            return NONE
        held = asking.needs
        amounts = account.needs(asking.model, charged(account.rule_after, row.usage, traits))
        due = {name: amount for name, amount in amounts.items() if name in held}
        if any(amount > held[name] for name, amount in due.items()):
            used = account.needs(asking.model, charged("actual", row.usage, traits))
            due = {name: min(due[name], max(held[name], used[name])) for name in due}
        return due

    def _settle(
        self, row: CallFinished, used: Amounts, readings: Sequence[WindowReading] = ()
    ) -> None:
        asking = self.asking
        if asking.needs:
            self._store.settle(asking.account.pool, Settlement(asking.lease, used, readings))
        self._settle_own(row)

    def _settle_own(self, row: CallFinished) -> None:
        """Charge the caller: money with what the row says, so that rows and spend agree."""
        asking = self.asking
        if not asking.own:
            return
        cost, tokens = row.cost or 0, row.usage.total_tokens
        used: dict[str, int] = {}
        held, told = -1, None
        for name, amount in asking.own.items():
            if is_money(name):
                used[name] = cost
                held = max(held, amount)
            elif not name.endswith(_COUNTED):
                used[name] = tokens
        if held >= 0:
            told = packed(row_of(self._whose.kept(), row))
            self._ledger.record(MoneyMet(asking.label, held, cost))
        self._store.settle(asking.purse, Settlement(asking.lease, used, row=told))
