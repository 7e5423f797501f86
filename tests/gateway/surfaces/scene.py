"""A surface with everything behind it but a network, and a client in front of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import anyio
import orjson

from gateway.app import CHAT, MESSAGES
from gateway.channels.retrying import RetryPolicy
from gateway.metering.ledger import CallFinished, Fact, RequestBegun, RequestFinished
from gateway.pipeline import Pipeline
from gateway.planning.plan import Defaults
from gateway.planning.planner import Planner
from gateway.policy.keys import KeyRing, OpenDoor
from gateway.policy.models import Catalogue, Model
from gateway.surfaces.completion import CompletionEndpoint, Front
from gateway.upstream import provider, providers
from gateway.upstream.http import HttpChannel, Patience
from gateway.upstream.provider import HttpCall, Target
from gateway.upstream.redact import Mask
from pricing.price import Price
from router_service.groundwork.response import LEAVING
from techniques import catalog
from techniques.core.json import Json
from techniques.core.registry import load
from tests.fakes import script
from tests.patience import until

Step = bytes | float | Exception | Callable[[], bool]
DIALECTS = provider.load(providers)
ASKED: list[Json] = [{"role": "user", "content": "hello there"}]
TOLD = (script.begin(), script.text("Hello"), script.text(" there"), script.finish())
ENDED = (script.usage(12, 4), script.done())


@dataclass
class Played:
    """A provider's answer: bytes come as they are, a number is a wait, an exception is raised.

    What is called is waited for until it is true.
    """

    steps: tuple[Step, ...]
    status: int = 200
    headers: Mapping[str, str] = field(
        default_factory=lambda: {"content-type": "text/event-stream"}
    )
    closed: bool = False

    async def read(self) -> bytes:
        while self.steps:
            step, *rest = self.steps
            self.steps = tuple(rest)
            if isinstance(step, bytes):
                await anyio.lowlevel.checkpoint()
                return step
            if isinstance(step, Exception):
                raise step
            await (until(step) if callable(step) else anyio.sleep(step))
        return b""

    def wait_until(self, moment: float) -> None:
        pass

    def close(self) -> None:
        self.closed = True


@dataclass
class Upstream:
    """A transport that gives back *answers* in turn, each a fresh one at the end of the list."""

    answers: list[Played]
    calls: list[HttpCall] = field(default_factory=list)
    given: list[Played] = field(default_factory=list)
    mask: Mask = field(default_factory=lambda: Mask({}))

    async def post(self, call: HttpCall, until: float) -> Played:
        self.calls.append(call)
        answer = self.answers.pop(0)
        self.given.append(answer)
        return answer


def streamed(*steps: Step) -> Played:
    return Played(steps or (*TOLD, *ENDED))


def whole(content: str = "fine") -> Played:
    writes = script.completion(content).writes
    return Played(
        tuple(w for w in writes if isinstance(w, bytes)),
        headers={"content-type": "application/json"},
    )


def refused(status: int, message: str = "why not") -> Played:
    body = b"".join(w for w in script.error(status, message).writes if isinstance(w, bytes))
    return Played((body,), status, {"content-type": "application/json"})


class Stage:
    """One surface over *answers*; every fact it records is in ``facts``."""

    def __init__(
        self,
        *answers: Played,
        door: KeyRing | OpenDoor | None = None,
        keepalive_s: float = 15.0,
        max_body: int = 100_000,
        retries: int = 0,
        dialect: str = "openai_chat",
    ) -> None:
        self.upstream = Upstream(list(answers))
        self.facts: list[Fact] = []
        patience = Patience(5.0, 5.0)
        codec = DIALECTS["openai_chat"]
        names = ("fast", "gpt-*")
        models = [
            Model(
                HttpChannel(self.upstream, codec, Target(name, "oa", f"real-{name}"), patience),
                Price(1_000_000, 2_000_000),
            )
            for name in names
        ]
        planner = Planner(Catalogue(models), load(catalog), Defaults())
        pipeline = Pipeline(planner, RetryPolicy(retries, backoff_s=0.0), Random(1))
        self.front = Front(
            door or OpenDoor(), pipeline, (self.facts.append,), max_body, keepalive_s
        )
        self.endpoint = CompletionEndpoint(
            CHAT if dialect == "openai_chat" else MESSAGES, self.front
        )

    @property
    def finished(self) -> RequestFinished:
        """The one fact that says how the request ended; there is no second."""
        (begun,) = [fact for fact in self.facts if isinstance(fact, RequestBegun)]
        (finished,) = [fact for fact in self.facts if isinstance(fact, RequestFinished)]
        assert self.facts[0] is begun
        assert self.facts[-1] is finished
        rows = [fact for fact in self.facts if isinstance(fact, CallFinished)]
        assert list(finished.rows) == rows
        return finished

    async def serve(
        self, body: Json, headers: Mapping[str, str] | None = None, client: Client | None = None
    ) -> Client:
        """Serve one request to its end."""
        raw = body if isinstance(body, bytes) else orjson.dumps(body)
        client = client or Client()
        client.body = raw
        pairs = [
            (name.encode(), value.encode("latin-1")) for name, value in (headers or {}).items()
        ]
        scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/", "headers": pairs}
        if client.tells:
            scope["extensions"] = {LEAVING: client.gone.tell}
        await self.endpoint(scope, client.receives or client.receive, client.send)
        return client


class Gone:
    """The client's leaving: waited for, or told to a callback in the loop's next turn."""

    def __init__(self) -> None:
        self._event = anyio.Event()
        self._told: Callable[[], object] | None = None

    def set(self) -> None:
        self._event.set()
        self.tell(self._told)

    async def wait(self) -> None:
        await self._event.wait()

    def tell(self, told: Callable[[], object] | None) -> None:
        self._told = told
        if told is not None and self._event.is_set():
            asyncio.get_running_loop().call_soon(self._tell)

    def _tell(self) -> None:
        if self._told is not None:
            self._told()


class Client:
    """The ASGI server's side: gives the body, takes what is sent, and may leave.

    ``tells``: whether a callback can be told of that, as our own server does.
    """

    tells = False

    def __init__(self, on_send: Callable[[bytes], None] | None = None) -> None:
        self.body = b""
        self.sent: list[dict[str, Any]] = []
        self.gone = Gone()
        self._asked = False
        self._on_send = on_send
        self.receives: Callable[[], Awaitable[Json]] | None = None
        self.on_end: Callable[[], None] | None = None

    async def receive(self) -> dict[str, Any]:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": self.body, "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        assert not self.complete, "nothing is sent after the end"
        assert (message["type"] == "http.response.start") == (not self.sent), "one start, first"
        self.sent.append(message)
        await anyio.lowlevel.checkpoint()
        if self._on_send:
            self._on_send(message.get("body", b""))
        if self.complete and self.on_end:
            self.on_end()

    @property
    def complete(self) -> bool:
        return len(self.sent) > 1 and not self.sent[-1].get("more_body", False)

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode("latin-1") for name, value in self.sent[0]["headers"]}

    @property
    def content(self) -> bytes:
        return b"".join(message["body"] for message in self.sent[1:])

    @property
    def json(self) -> Json:
        return orjson.loads(self.content)


def chat(**fields: Json) -> dict[str, Json]:
    return {"model": "fast", "messages": ASKED, **fields}
