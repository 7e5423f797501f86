"""A whole gateway over a provider that fails as it is told to, and all that it tells of money."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

import orjson

from gateway.app import App
from gateway.config import Config, Secrets
from gateway.metering.ledger import Fact
from gateway.metering.meters.durable import DurableRows
from gateway.policy.keys import digest
from gateway.stores.database.rows import LedgerRow, unpacked
from gateway.stores.database.writer import Written
from gateway.stores.ledger import LedgerStore
from gateway.upstream.provider import HttpCall
from gateway.upstream.redact import Mask
from gateway.upstream.transport import Response
from gateway.wiring import Parts, running
from techniques.core.json import Json
from tests.fakes.hurried import HurriedLoop
from tests.gateway.surfaces.scene import Client
from tests.property.faulty import Fault, Faulty

DoneT = TypeVar("DoneT")

PICO: Final = 10**12
CAP: Final = 1_000
"""Dollars of the budget: enough for everything."""

_POOL: Final = "key:rich"
_SILENT_S: Final = 5.0
"""Services of the gateway look after things each second: more would take them long."""

SECTIONS: Final[dict[str, Json]] = {
    "providers": {"sim": {"dialect": "openai_chat", "simulated": {"seed": 0}}},
    "models": [
        {"name": "sim-small", "provider": "sim", "price": {"input": "0.123457", "output": "0.7"}},
        {
            "name": "sim-large",
            "provider": "sim",
            "price": {"input": "2.000001", "output": 7, "per_request": "0.0000000137"},
            "fallbacks": ["sim-small"],
        },
        {"name": "unpriced", "provider": "sim", "model": "unheard-of"},
    ],
    "pricing": {"shipped": False},
    "keys": [
        {"name": "rich", "hash": digest("s", "rich"), "budget": {"usd": CAP, "period": "total"}},
        {"name": "free", "hash": digest("s", "free")},
    ],
    "upstream": {"retries": 1, "backoff_s": 0.5, "breaker": 0},
    "journal": {"durability": "memory"},
    "database": {"url": "none"},
}


@dataclass(frozen=True)
class Told:
    """Everything that was told of one request, money in picodollars.

    Attributes:
        rows: Its rows, as they go into the database.
        client: What its client got.
        counted: By how much the metrics rose: calls, tokens by type, money.
        charged: What was taken from the budget.
        served: How many calls the provider had.
        kept: The rows that were charged to the budget, as another replica would write them.
    """

    rows: list[LedgerRow]
    client: Client
    counted: Mapping[str, float]
    charged: int
    served: int
    kept: list[LedgerRow]


@dataclass
class Through:
    """A transport to the provider that the gateway has now; ``gateways`` has it, once it runs."""

    gateways: list[Accounts]
    mask: Mask = field(default_factory=lambda: Mask({}))

    async def post(self, call: HttpCall, until: float) -> Response:
        """Send *call* there; a model that the simulation does not know is one that it does."""
        body = call.body.replace(b'"unheard-of"', b'"sim-large"')
        return await self.gateways[0].provider.post(replace(call, body=body), until)


@dataclass
class Accounts:
    """A gateway that runs; what is asked of it is asked one after the other."""

    provider: Faulty = field(default_factory=lambda: Faulty({}))
    facts: list[Fact] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._loop = HurriedLoop()
        self._began, self._over = asyncio.Event(), asyncio.Event()
        self._parts: Parts | None = None
        self._config = Config.model_validate(SECTIONS)
        self._app = App(self._opened)
        self._life = self._loop.create_task(self._live())
        self.done(self._begun())

    def done(self, work: Coroutine[Any, Any, DoneT]) -> DoneT:
        """Return what *work* comes to."""
        return self._loop.run_until_complete(work)

    def close(self) -> None:
        """End the gateway."""
        self._over.set()
        self.done(self._ended())
        self._loop.close()

    async def ask(
        self,
        faults: Sequence[Fault | None],
        key: str,
        body: Json,
        wishes: Mapping[str, str],
        leaves_at: float | None,
    ) -> Told:
        """Make a request as *key*, whose client leaves after so many seconds if it is not done.

        *faults* are those of its first calls.
        """
        numbered = {number: fault for number, fault in enumerate(faults) if fault is not None}
        self.provider = Faulty(numbered, silent_s=_SILENT_S)
        self.facts.clear()
        before, left = self._counted(), await self._left()
        client = Client()
        client.body = orjson.dumps(body)
        if leaves_at is not None:
            self._loop.call_later(leaves_at, client.gone.set)
        await self._app(_scope({"x-api-key": key, **wishes}), client.receive, client.send)
        after = self._counted()
        return Told(
            self._rows(),
            client,
            {name: after[name] - before.get(name, 0) for name in after},
            left - await self._left(),
            len(self.provider.served),
            await self._kept(),
        )

    def _rows(self) -> list[LedgerRow]:
        """Return the rows of the request that has ended; there was no other."""
        put: list[Written] = []
        DurableRows(put.append)(self.facts)
        return [row for written in put for row in written.rows]

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator[Parts, None]:
        async with running(self._config, Secrets("s", "admin")) as parts:
            front = replace(parts.front, meters=(*parts.front.meters, self.facts.append))
            self._parts = replace(parts, front=front)
            yield self._parts

    async def _live(self) -> None:
        async def receive() -> Json:
            if not self._began.is_set():
                return {"type": "lifespan.startup"}
            await self._over.wait()
            return {"type": "lifespan.shutdown"}

        async def send(message: Json) -> None:
            assert message["type"].endswith(".complete"), message
            self._began.set()

        await self._app({"type": "lifespan", "state": {}}, receive, send)

    async def _begun(self) -> None:
        await self._began.wait()

    async def _ended(self) -> None:
        await self._life

    def _counted(self) -> dict[str, float]:
        """Return the metrics now: tokens by type, calls, and picodollars."""
        assert self._parts is not None
        self._parts.spool.drain()
        totals: dict[str, float] = {}
        for family in self._parts.collect().collect():
            for sample in family.samples:
                if name := _NAMES.get(sample.name):
                    name = sample.labels.get("type", name)
                    totals[name] = totals.get(name, 0) + sample.value
        return totals

    @property
    def _store(self) -> LedgerStore:
        assert self._parts is not None
        pacer = self._parts.front.pipeline.pacer
        assert pacer is not None
        return pacer.store

    async def _kept(self) -> list[LedgerRow]:
        """Take the rows that are charged out of the store."""
        found = await self._store.rows(_POOL, 500, 0)
        self._store.acknowledge(_POOL, [lease for lease, _ in found])
        return [unpacked(line) for _, line in found]

    async def _left(self) -> int:
        """Return the picodollars that are left of the budget; nothing of it is held."""
        found = await self._store.peek(_POOL)
        if not found.windows:
            return CAP * PICO
        (window,) = found.windows
        assert (window.held, found.leases) == (0, 0)
        return int(window.level)


_NAMES: Final = {
    "lockgate_tokens_total": "tokens",
    "lockgate_cost_usd_total": "cost",
    "lockgate_upstream_attempts_total": "calls",
}


def _scope(headers: Mapping[str, str]) -> dict[str, Any]:
    path = "/v1/chat/completions"
    return {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
