"""Two gateways that share a database in which responses are kept, and the SDK before each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openai
from openai.types.responses import Response

from techniques.core.json import Json
from tests.e2e.turns import Turn, streamed, whole
from tests.fakes.client import Exchange, Reply, request
from tests.fakes.gateway import ADMIN_TOKEN, KEYS, Gateway, settings
from tests.fakes.script import Answer
from tests.fakes.upstream import Asked, ScriptedUpstream, dead_port
from tests.patience import eventually

SECRET = "8d" * 32
ENDED = ("completed", "incomplete", "failed", "cancelled")


@dataclass
class Pair:
    """Two gateways before one upstream. ``turn`` is what a model says next."""

    gateways: list[Gateway]
    upstream: ScriptedUpstream
    database: str
    clients: dict[tuple[int, str], openai.OpenAI] = field(default_factory=dict)

    def client(self, place: int = 0, key: str = "k1") -> openai.OpenAI:
        """Return the SDK's client of a gateway; it tries once."""
        if (place, key) not in self.clients:
            url = f"http://127.0.0.1:{self.gateways[place].port}/v1"
            self.clients[place, key] = openai.OpenAI(base_url=url, api_key=KEYS[key], max_retries=0)
        return self.clients[place, key]

    def says(self, turn: Turn, then: Callable[[Answer], Answer] = lambda answer: answer) -> None:
        """Have every model say *turn* from now on."""

        def choose(asked: Asked) -> Answer:
            paths = {"messages": "an", "completions": "oa", "responses": "rs"}
            model = paths[asked.path.rpartition("/")[2]]
            said = streamed if asked.body.get("stream") else whole
            return then(said(model, turn))

        self.upstream.chooses(choose)

    def sent(self) -> list[Json]:
        """Return the conversation that the upstream was last asked to go on with: who, and what."""
        body = self.upstream.asked[-1].body
        turns = body.get("messages") or body["input"]
        return [(turn["role"], _text(turn["content"])) for turn in turns]

    def send(
        self, method: str, path: str, body: bytes = b"", *, key: str = "k1", place: int = 0
    ) -> Reply:
        """Send a request as it is; the key ``admin`` is the admin's token."""
        said = {"authorization": f"Bearer {ADMIN_TOKEN if key == 'admin' else KEYS[key]}"}
        return Exchange(self.gateways[place].port, request(path, body, said, method)).whole()

    def ended(self, response_id: str, place: int = 0) -> Response:
        """Wait until a response has ended, and return it."""
        told: list[Response] = []

        def has_ended() -> bool:
            told.append(self.client(place).responses.retrieve(response_id))
            return told[-1].status in ENDED

        assert eventually(has_ended), told[-1]
        return told[-1]


@contextmanager
def paired(folder: Path, database: str, number: int = 2, **changes: Any) -> Iterator[Pair]:
    """Start *number* gateways on *database*; leaving stops them."""
    usual: dict[str, Json] = {
        "database": {"url": database},
        "upstream": {"retries": 0},
        "responses": {"store": "on"},
        "journal": {"encryption": "${JOURNAL_KEY}"},
    }
    held, dead = dead_port()
    with held, ScriptedUpstream() as upstream, ExitStack() as stack:
        told = settings(upstream.port, dead, usual | changes)
        gateways = []
        for place in range(number):
            own = folder / str(place)
            own.mkdir()
            gateways.append(stack.enter_context(Gateway(own, told, {"JOURNAL_KEY": SECRET})))
        pair = Pair(gateways, upstream, database)
        yield pair
        for client in pair.clients.values():
            client.close()


def _text(content: Json) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or ())
