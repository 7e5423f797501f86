"""``GET /admin/overview`` and ``GET /admin/overview/today``: the data behind ``/ui``.

What takes reading is read once for all who look on, and takes a small part of the time at most.
"""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.clock import utc_now
from gateway.metering.meters.rows import Ended
from gateway.metering.spool import Spool
from gateway.runs.book import RunBook
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.database.rows import moment
from gateway.stores.guarded import GuardedLedger
from gateway.stores.journal.apart import ApartJournal
from gateway.stores.journal.journal import Journal, JournalLost, Sought
from gateway.stores.journal.memory import wall_ms
from gateway.stores.journal.records import Stored
from gateway.stores.ledger import StoreLost
from gateway.surfaces.completion import Front
from gateway.surfaces.operations import json_answer, refused
from gateway.surfaces.overview.access import Access
from gateway.surfaces.overview.calls import MOST, under_way
from gateway.surfaces.overview.day import Day
from gateway.surfaces.overview.fresh import Fresh
from gateway.surfaces.overview.limits import limits
from gateway.upstream.account import Account
from pricing.cost import dollars
from techniques.core.json import JsonObject

_ENDED: Final = 8
_LOOK_S: Final = 1.0
_DAY_S: Final = 4.0
_BUDGETS_S: Final = 15.0


@dataclass(frozen=True, slots=True)
class Sources:
    """What is read: the day, facts that have just come, what is lost, and all accounts."""

    day: Day
    spool: Spool
    lost: Callable[[], list[str]]
    accounts: Iterable[Account]


class OverviewEndpoint:
    """Tells who may look on what is going on now, and what the day has brought so far."""

    def __init__(self, front: Front, access: Access, sources: Sources) -> None:
        self._front = front
        self._access = access
        self._sources = sources
        self._process: JsonObject = {
            "name": f"{platform.node()}:{os.getpid()}",
            "version": metadata.version("lockgate"),
            "began": utc_now().isoformat(),
        }
        by_name = {account.name: account for account in sources.accounts if account.name}
        self._accounts = [account for _, account in sorted(by_name.items())]
        self._runs = Fresh(self._read_runs, _LOOK_S)
        self._limits = Fresh(self._read_limits, _LOOK_S)
        self._day = Fresh(lambda: sources.day.told(utc_now()), _DAY_S)
        self._budgets = Fresh(lambda: sources.day.budgets(utc_now()), _BUDGETS_S)
        self._keys = Fresh(lambda: sources.day.going(utc_now()), _BUDGETS_S)

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/ui/access", self._access.told),
            Route("/admin/overview", self._guarded(self._now)),
            Route("/admin/overview/today", self._guarded(self._today)),
        ]

    def _guarded(
        self, tell: Callable[[], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def guarded(request: Request) -> Response:
            answer = await self._access.refusal(request) or await tell()
            answer.headers["cache-control"] = "no-store"
            return answer

        return guarded

    async def _today(self) -> Response:
        self._sources.spool.drain()
        try:
            told = await self._day.get()
            beside = {"budgets": await self._budgets.get(), "keys": await self._keys.get()}
            return json_answer({**told, **beside})
        except DatabaseLost:
            return refused("The database does not answer now.", 503)

    async def _now(self) -> Response:
        self._sources.spool.drain()
        lost = self._sources.lost()
        book, front = self._book, self._front
        elsewhere: Sequence[Stored] = ()
        try:
            elsewhere = await self._runs.get()
        except JournalLost:
            lost = [*lost, "journal"]
        accounts: list[JsonObject] = []
        try:
            accounts = await self._limits.get()
        except StoreLost:
            lost = sorted({*lost, "store"})
        now_ms = wall_ms()
        found = under_way(front.visits.values(), book, elsewhere[:MOST], now_ms)
        states = Counter(seen.state for seen in found)
        told: JsonObject = {
            "at": utc_now().isoformat(),
            "process": {**self._process, "stopping": front.gate.closing},
            "lost": lost,
            "counts": {one: states[one] for one in ("executing", "held", "suspended")},
            "runs_more": len(elsewhere) > MOST,
            "calls": [seen.told(now_ms) for seen in found[:MOST]],
            "more": max(len(found) - MOST, 0),
            "runs_shared": book is not None and _is_shared(book.journal),
            "limits": {**self._pacing(), "accounts": accounts},
            "try": {"model": self._model(), "keyed": await self._access.has_keys()},
            "ended": [_ended(it) for it in self._last()],
        }
        return json_answer(told)

    @property
    def _book(self) -> RunBook | None:
        return self._front.behind.runs if self._front.behind else None

    async def _read_runs(self) -> Sequence[Stored]:
        """Return runs that are not carried out here: of those more is known, and sooner."""
        if self._book is None:
            return ()
        sought = Sought(None, limit=MOST + 1, states=("executing", "suspended"))
        found = await self._book.journal.listed(sought)
        here = self._book.floor.here
        return [stored for stored in found if stored.record.name not in here]

    async def _read_limits(self) -> list[JsonObject]:
        pacer = self._front.pipeline.pacer
        return [] if pacer is None else await limits(pacer.store, self._accounts)

    def _pacing(self) -> JsonObject:
        """Return how calls are paced, and whether all replicas share what they are paced by."""
        pacer = self._front.pipeline.pacer
        if pacer is None or not pacer.paces:
            return {"mode": "off", "shared": False}
        store = pacer.store
        shared = isinstance(store, GuardedLedger) and not store.lost
        return {"mode": "observe" if pacer.observes else "on", "shared": shared}

    def _model(self) -> str:
        """Return the name of a model that a first request can be made to."""
        catalogue = self._front.pipeline.planner.catalogue
        return next(iter((*catalogue.named(), *catalogue.labels())), "")

    def _last(self) -> Sequence[Ended]:
        return self._sources.day.recent.ended()[: -_ENDED - 1 : -1]


def _is_shared(journal: Journal) -> bool:
    """Return whether *journal* has the runs of all replicas, but for keys that are kept apart."""
    return isinstance(journal, ApartJournal) and journal.is_shared


def _ended(ended: Ended) -> JsonObject:
    """Return what is told of a request that has ended here."""
    finished = ended.finished
    known = [row.cost for row in finished.rows if row.cost is not None]
    return {
        "request_id": finished.request_id,
        "id": finished.run,
        "at": moment(ended.at),
        "outcome": finished.outcome,
        "code": finished.code,
        "technique": finished.technique,
        "model": finished.model,
        "key": finished.key,
        "calls": len(finished.rows),
        "cost_usd": dollars(sum(known)),
        "cost_known": len(known) == len(finished.rows),
        "ms": round(1000 * finished.seconds, 1),
    }
