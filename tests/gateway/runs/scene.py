"""Replicas over one journal and one provider, on virtual time; each may die at any word."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Any, TypeVar

import anyio
import orjson

from gateway.app import CHAT
from gateway.channels.retrying import RetryPolicy
from gateway.context.rules import Rules
from gateway.context.slimmer import Slimmer
from gateway.metering.ledger import Fact, Ledger
from gateway.pipeline import Asked, Pipeline
from gateway.planning.plan import Defaults
from gateway.planning.planner import Planner
from gateway.planning.slims import Slims
from gateway.policy.keys import OPEN
from gateway.policy.models import Catalogue, Model
from gateway.policy.wishes import read
from gateway.routing.asking import Asker
from gateway.routing.menu import Menus
from gateway.routing.routing import Routing
from gateway.runs.book import RunBook
from gateway.runs.wanted import Begun, RunPolicy
from gateway.stores.journal.journal import (
    Answer,
    Claim,
    Hold,
    Journal,
    JournalLost,
    Sought,
    Write,
)
from gateway.stores.journal.memory import MemoryJournal
from gateway.stores.journal.records import RunName, RunRecord, Stored
from gateway.surfaces.kept import carry_of, wanted_by
from gateway.surfaces.visit import Visit
from gateway.upstream.provider import Target
from pricing.price import Price
from router_service.contract import Router
from router_service.engine import Engine
from techniques import catalog
from techniques.core.capabilities import Capabilities, Prefill
from techniques.core.channel import Channel
from techniques.core.groups import task_group
from techniques.core.json import NOTHING, Json
from techniques.core.registry import load
from techniques.core.reply import Reply, fold, replied
from techniques.core.request import Request
from techniques.testing import Line, ScriptedChannel
from tests.techniques.scene import line, needed, sensible

CARDS = load(catalog)
T = TypeVar("T")
PRICE = Price(1_000_000, 2_000_000)
POLICY = RunPolicy(lease_s=15, linger_s=30, attach_s=55)


def now_ms() -> int:
    """Return the virtual time in milliseconds."""
    return int(anyio.current_time() * 1000)


class Died(BaseException):
    """The replica is no more."""


class Mortal:
    """A journal as one replica has it. It dies at the word numbered *at*, written or not."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.written = 0
        self.at: int | None = None
        self.after = False
        self.died = anyio.Event()
        self.lost: Callable[[int], bool] = lambda _number: False
        self.stalls: Callable[[Write], bool] = lambda _write: False
        self.stalled = anyio.Event()
        self.go_on = anyio.Event()

    async def claim(self, claim: Claim) -> Answer:
        return await self._living(self.journal.claim, claim)

    async def write(self, write: Write) -> None:
        if self.stalls(write):
            self.stalled.set()
            await self.go_on.wait()
        number, self.written = self.written, self.written + 1
        if self.lost(number):
            raise JournalLost
        if number == self.at:
            if self.after:
                await self.journal.write(write)
            self.died.set()
        await self._living(self.journal.write, write)

    async def renew(self, holds: Sequence[Hold], lease_ms: int) -> Sequence[Hold]:
        if self.stalled.is_set() and not self.go_on.is_set():
            await self.go_on.wait()
        return await self._living(self.journal.renew, holds, lease_ms)

    async def find(self, name: RunName) -> Stored | None:
        return await self._living(self.journal.find, name)

    async def waits(self, owner: str, body: str) -> bool:
        return await self._living(self.journal.waits, owner, body)

    async def abandoned(self, limit: int) -> Sequence[RunRecord]:
        return await self._living(self.journal.abandoned, limit)

    async def suspended(self, limit: int) -> Sequence[int | None] | None:
        return await self._living(self.journal.suspended, limit)

    async def listed(self, sought: Sought) -> Sequence[Stored]:
        return await self._living(self.journal.listed, sought)

    async def put(self, brought: Stored, *, replaces: bool = False) -> Stored | None:
        return await self._living(partial(self.journal.put, replaces=replaces), brought)

    async def forget(self, names: Sequence[RunName]) -> int:
        return await self._living(self.journal.forget, names)

    async def purge(self, before_ms: int) -> int:
        return await self._living(self.journal.purge, before_ms)

    async def erase(self, owner: str) -> int:
        return await self._living(self.journal.erase, owner)

    async def _living(self, operation: Callable[..., Awaitable[T]], *values: Any) -> T:
        if self.died.is_set():
            await anyio.sleep_forever()
        return await operation(*values)


@dataclass(frozen=True)
class Straight:
    """Stands in the place of an HTTP channel."""

    inner: Channel
    target: Target

    def open(self, request: Request) -> Any:
        return self.inner.open(request)


def sure(request: Request) -> Line | str:
    """Answer at once, by what the call is for."""
    return line(sensible(request))


@dataclass
class World:
    """A journal and a provider that all replicas share."""

    script: Callable[[Request], Line | str] = sure
    journal: Journal = field(default_factory=lambda: MemoryJournal(now_ms))
    facts: list[Fact] = field(default_factory=list)
    policy: RunPolicy = POLICY
    window: int | None = None
    rules: Rules = field(default_factory=Rules)
    prefill: Prefill = "none"

    def __post_init__(self) -> None:
        self.provider = ScriptedChannel(lambda request: self.script(request))

    @property
    def asked(self) -> list[str]:
        """The steps that the provider was asked for, in order."""
        return [request.step for request in self.provider.asked]

    @asynccontextmanager
    async def replica(self) -> AsyncGenerator[Replica, None]:
        """Start a replica; leaving stops it."""
        mortal = Mortal(self.journal)
        book = RunBook(mortal, self.policy, now_ms)
        async with task_group() as group:
            await group.start(book.floor.serve)
            yield Replica(self, book, mortal, Slimmer(self.rules))
            group.cancel_scope.cancel()

    async def stored(self, run: str = "run") -> Stored:
        """Return what the journal has of a run."""
        found = await self.journal.find(RunName("", run))
        assert found is not None
        return found


@dataclass
class Replica:
    """One gateway, as far as runs are concerned."""

    world: World
    book: RunBook
    journal: Mortal
    slimmer: Slimmer
    router: Router = field(default_factory=Engine)
    options: Mapping[str, Json] = NOTHING
    visit: Visit | None = None

    def pipeline(self) -> Pipeline:
        able = {
            "m": Capabilities(context=self.world.window, prefill=self.world.prefill),
            "n": Capabilities(),
        }
        models = [
            Model(Straight(self.world.provider, Target(name, "p", name, able[name])), PRICE)  # type: ignore[arg-type]
            for name in able
        ]
        catalogue = Catalogue(models)
        options = {"self_consistency": dict(self.options)} if self.options else {}
        planner = Planner(catalogue, CARDS, Defaults(judge="n", options=options))
        slims = Slims(self.slimmer, catalogue)
        routing = Routing(Menus(planner), Asker(self.router, None, 0.02, 0.02), "test")
        return Pipeline(planner, RetryPolicy(0), Random(1), slims=slims, routing=routing)

    async def begin(
        self, technique: str = "self_consistency", run: str | None = "run", **said: Any
    ) -> Begun:
        """Begin a run, or go on with it."""
        headers: dict[str, str] = {"x-lockgate-technique": technique, **said.pop("headers", {})}
        if run is not None:
            headers["x-lockgate-run"] = run
        options: Mapping[str, Json] = said.pop("params", _needed(technique))
        if options:
            headers["x-lockgate-params"] = orjson.dumps(options).decode()
        question = said.pop("question", "What is 6 * 7?")
        asks: Json = said.pop("messages", [{"role": "user", "content": question}])
        body: dict[str, Json] = {"model": "m", "messages": asks}
        body |= {"seed": said.pop("seed", 7), **said.pop("wants", {})}
        attempted = said.pop("attempted", 0)
        raw = orjson.dumps(body)
        call = CHAT.decode(body, raw)
        pipeline = self.pipeline()
        named = f"r{id(raw)}-{len(self.world.facts)}"
        wishes = read(headers, call.wishes)
        asked = Asked(call, OPEN, wishes, attempted=attempted, request_id=named)
        ledger = Ledger((self.world.facts.append,))
        self.visit = visit = Visit(named, "openai_chat", b"", headers, ledger, asked=asked)
        visit.plan = await pipeline.routed(asked, pipeline.plan(asked), ledger.record)
        want = replace(wanted_by(visit, pipeline, raw), **said)
        begun = await self.book.begin(want, carry_of(visit, pipeline), ledger)
        assert begun is not None
        return begun

    async def ask(self, technique: str = "self_consistency", **said: Any) -> Reply:
        """Carry a run out, or go on with it, and return its answer."""
        begun = await self.begin(technique, **said)
        async with begun.answer as events:
            return await fold(events)

    async def dies(self, at: int, technique: str = "self_consistency", **said: Any) -> bool:
        """Carry a run out until the word numbered *at*; return whether it came so far."""
        self.journal.at, self.journal.after = at, said.pop("after", False)
        ended = anyio.Event()

        async def ask() -> None:
            try:
                await self.ask(technique, **said)
            finally:
                ended.set()

        async with task_group() as group:
            group.start_soon(ask)
            group.start_soon(self._first, group.cancel_scope, ended)
        return self.journal.died.is_set()

    async def _first(self, scope: anyio.CancelScope, ended: anyio.Event) -> None:
        async with anyio.create_task_group() as group:

            async def until(event: anyio.Event) -> None:
                await event.wait()
                group.cancel_scope.cancel()

            group.start_soon(until, ended)
            group.start_soon(until, self.journal.died)
        scope.cancel()


def _needed(technique: str) -> Mapping[str, Json]:
    return needed(CARDS[technique]) if technique in CARDS else {}


def after(seconds: float, text: str = "42") -> Line:
    """Return an answer that takes *seconds*."""
    return Line(replied(text), after=seconds)
