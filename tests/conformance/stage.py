"""A gateway, the upstream behind it and a client in front: what every conformance test acts on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from techniques.core.json import Json
from tests.fakes.client import Exchange, Reply, SseEvent, request
from tests.fakes.gateway import ADMIN_TOKEN, KEYS, Gateway
from tests.fakes.script import dumps
from tests.fakes.upstream import ScriptedUpstream
from tests.patience import eventually

REQUESTS = "lockgate_requests_total"
CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
ONCE: dict[str, Json] = {"upstream": {"retries": 0, "pool": 5}}
"""Changes to the configuration for what is to be tried but once."""
IMPATIENT: dict[str, Json] = {"upstream": {**ONCE["upstream"], "first_byte_s": 0.5}}
"""The same for what has to time out before it begins."""
STALLING: dict[str, Json] = {"upstream": {**ONCE["upstream"], "idle_s": 2.0}}
"""The same for what has to time out in the midst of its stream."""
ASKED = [{"role": "user", "content": "hello there"}]


@dataclass(frozen=True, slots=True)
class Streamed:
    """A streamed answer that has come whole, on either surface."""

    headers: Mapping[str, str]
    events: list[SseEvent]
    started: float

    @property
    def said(self) -> list[Json]:
        """What the data of the events says, the terminal ``[DONE]`` left out."""
        told = [event for event in self.events if event.data is not None]
        return [event.json for event in told if event.data != "[DONE]"]

    @property
    def request_id(self) -> str:
        """The gateway's name for the request."""
        return self.headers["x-lockgate-request-id"]

    @property
    def dones(self) -> int:
        """How many ``[DONE]`` there are."""
        return sum(event.data == "[DONE]" for event in self.events)

    @property
    def names(self) -> list[str | None]:
        """The names of the events with data, in order."""
        return [event.name for event in self.events if event.data is not None]

    @property
    def choices(self) -> list[Json]:
        """Every choice of every chunk."""
        return [choice for chunk in self.said for choice in chunk.get("choices", [])]

    @property
    def deltas(self) -> list[Json]:
        """The delta of every choice."""
        return [choice["delta"] for choice in self.choices]

    def joined(self, member: str = "content") -> str:
        """Join the texts that the deltas have under *member*."""
        return "".join(delta.get(member) or "" for delta in self.deltas)

    @property
    def finishes(self) -> list[str]:
        """The finish reasons that are told, in order."""
        return [choice["finish_reason"] for choice in self.choices if choice.get("finish_reason")]

    @property
    def errors(self) -> list[Json]:
        """The error objects that are told, in order."""
        return [told["error"] for told in self.said if told.get("error")]

    @property
    def usages(self) -> list[Json]:
        """The chunks that carry usage."""
        return [told for told in self.said if told.get("usage")]

    @property
    def block_texts(self) -> str:
        """The text deltas of a message, joined."""
        deltas = [told["delta"] for told in self.said if told["type"] == "content_block_delta"]
        return "".join(delta.get("text", "") for delta in deltas)


@dataclass(slots=True)
class Stage:
    """What a test acts on; it remembers every answer for the checks that follow each test."""

    upstream: ScriptedUpstream
    gateway: Gateway
    received: list[Exchange] = field(default_factory=list)
    counted_before: float | None = None

    def count_outcomes(self) -> None:
        """From here on, each request must end in exactly one outcome."""
        self.counted_before = self.total(REQUESTS)

    def uncounted(self) -> None:
        """Tell that requests go past this stage, so that outcomes cannot be compared."""
        self.counted_before = None

    def open(
        self,
        path: str,
        body: Json,
        *,
        key: str | None = "k1",
        headers: Mapping[str, str] | None = None,
    ) -> Exchange:
        """Send a request and return it with its answer's head read; *body* may be raw bytes."""
        own = {"authorization": f"Bearer {KEYS[key]}"} if key else {}
        if path == MESSAGES:
            own["anthropic-version"] = "2023-06-01"
        content = body if isinstance(body, bytes) else dumps(body)
        exchange = Exchange(self.gateway.port, request(path, content, {**own, **(headers or {})}))
        self.received.append(exchange)
        return exchange

    def post(
        self,
        path: str,
        body: Json,
        *,
        key: str | None = "k1",
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send a request and return its whole answer."""
        return self.open(path, body, key=key, headers=headers).whole()

    def chat(self, *, headers: Mapping[str, str] | None = None, **fields: Json) -> Reply:
        """Ask for a chat completion."""
        return self.post(CHAT, chat(**fields), headers=headers)

    def messages(self, *, headers: Mapping[str, str] | None = None, **fields: Json) -> Reply:
        """Ask for a message."""
        return self.post(MESSAGES, messages(**fields), headers=headers)

    def responses(self, *, headers: Mapping[str, str] | None = None, **fields: Json) -> Reply:
        """Ask for a response."""
        return self.post(RESPONSES, responses(**fields), headers=headers)

    def responses_stream(
        self, *, headers: Mapping[str, str] | None = None, **fields: Json
    ) -> Streamed:
        """Ask for a streamed response and wait for its end."""
        return self._streamed(RESPONSES, responses(stream=True, **fields), headers)

    def chat_stream(self, *, headers: Mapping[str, str] | None = None, **fields: Json) -> Streamed:
        """Ask for a streamed chat completion and wait for its end."""
        return self._streamed(CHAT, chat(stream=True, **fields), headers)

    def messages_stream(
        self, *, headers: Mapping[str, str] | None = None, **fields: Json
    ) -> Streamed:
        """Ask for a streamed message and wait for its end."""
        return self._streamed(MESSAGES, messages(stream=True, **fields), headers)

    def _streamed(self, path: str, body: Json, headers: Mapping[str, str] | None) -> Streamed:
        with self.open(path, body, headers=headers) as exchange:
            assert exchange.status == 200, exchange.whole().body
            assert exchange.headers["content-type"].startswith("text/event-stream")
            events = list(exchange.events())
            return Streamed(exchange.headers, events, exchange.started)

    def rows(self, request_id: str, *, least: int = 1) -> list[Json]:
        """Return the ledger's rows of a request; wait until there are *least* of them."""
        found: list[Json] = []

        def enough() -> bool:
            answer = self.gateway.get(f"/admin/ledger?request={request_id}", ADMIN_TOKEN)
            if answer.status == 404:  # it has not ended yet
                return False
            assert answer.status == 200, answer.body
            found[:] = answer.json["rows"]
            return len(found) >= least

        eventually(enough)
        return sorted(found, key=lambda row: str(row["started_at"]))

    def row(self, answer: Reply | Streamed | Exchange) -> Json:
        """Return the only ledger row of *answer*."""
        rows = self.rows(answer.request_id)
        assert len(rows) == 1, rows
        return rows[0]

    def metrics(self) -> list[str]:
        """Return the sample lines of the metrics page."""
        answer = self.gateway.get("/metrics")
        assert answer.status == 200, answer.body
        lines = answer.body.decode().splitlines()
        return [line for line in lines if line and not line.startswith("#")]

    def total(self, name: str, **labels: str) -> float:
        """Return the sum of the samples *name* that have *labels*."""
        return summed(self.metrics(), name, **labels)


def summed(samples: list[str], name: str, **labels: str) -> float:
    """Return the sum of those *samples* that are of *name* and have *labels*."""
    wanted = [f'{label}="{value}"' for label, value in labels.items()]
    own = (f"{name}{{", f"{name} ")
    return sum(
        float(line.rpartition(" ")[2])
        for line in samples
        if line.startswith(own) and all(one in line for one in wanted)
    )


def chat(**fields: Json) -> dict[str, Json]:
    """Return a chat request with *fields* over the usual ones."""
    return {"model": "oa-model", "messages": ASKED, **fields}


def messages(**fields: Json) -> dict[str, Json]:
    """Return a messages request with *fields* over the usual ones."""
    return {"model": "oa-model", "max_tokens": 64, "messages": ASKED, **fields}


def responses(**fields: Json) -> dict[str, Json]:
    """Return a request for a response with *fields* over the usual ones."""
    return {"model": "oa-model", "input": ASKED, **fields}


def asked_at(path: str, **fields: Json) -> dict[str, Json]:
    """Return the usual request of the surface at *path*, with *fields* over it."""
    return {CHAT: chat, MESSAGES: messages, RESPONSES: responses}[path](**fields)


def technique(name: str, **params: Json) -> dict[str, str]:
    """Return the headers that ask for a technique."""
    headers = {"x-lockgate-technique": name}
    return {**headers, "x-lockgate-params": dumps(params).decode()} if params else headers


FUNCTION = {"name": "look_up", "parameters": {"type": "object", "properties": {"q": {}}}}
OTHER = {"name": "add_note", "parameters": {"type": "object", "properties": {"n": {}}}}
CHAT_TOOLS = [{"type": "function", "function": FUNCTION}, {"type": "function", "function": OTHER}]
MESSAGE_TOOLS = [{"name": "look_up", "input_schema": FUNCTION["parameters"]}]
