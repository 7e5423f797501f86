"""One gateway a session in front of a scripted upstream, and client programs before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from techniques.core.json import Json, JsonObject
from tests.clients.desk import Desk, command_of
from tests.clients.table import CLIENTS
from tests.e2e.conftest import CHANGES
from tests.fakes.gateway import KEYS, Gateway, settings
from tests.fakes.upstream import ScriptedUpstream, dead_port

SEARCHING = {"gpt-5.5": "an", "gpt-5.5-chat": "oa"}
"""Models that Codex knows, by whose names it offers a search for tools; who serves each."""
ADDING = {"gpt-5.6-luna": "an", "gpt-6.2-sol": "oa"}
"""Models by whose names it puts the tools into the input."""
_SERVED = {"an": "claude-opus-4-8", "oa": "real-model"}


@pytest.fixture
def anyio_backend() -> str:
    """Real sockets need a real clock."""
    return "asyncio"


@dataclass(frozen=True, slots=True)
class Stage:
    """What a test acts on."""

    upstream: ScriptedUpstream
    gateway: Gateway
    desks: dict[str, Desk]

    @property
    def root(self) -> str:
        """Where the gateway listens."""
        return f"http://127.0.0.1:{self.gateway.port}"

    def asks(self, who: str, operation: str, model: str, **more: Json) -> JsonObject:
        """Let the client *who*, such as ``langchain/chat``, carry out *operation*."""
        name, _, surface = who.partition("/")
        place = {"root": self.root, "key": KEYS["k1"], "model": model, "surface": surface}
        return self._desk(name).asks(operation, {**place, **more})

    def _desk(self, name: str) -> Desk:
        if name not in self.desks:
            command = command_of(CLIENTS[name].program, CLIENTS[name].environment)
            if isinstance(command, str):
                pytest.skip(command)
            self.desks[name] = Desk(command)
        return self.desks[name]


def _known_to_codex() -> Iterator[Json]:
    for name, provider in (SEARCHING | ADDING).items():
        row = {"name": name, "provider": provider, "model": _SERVED[provider]}
        yield {**row, "hosted_tools": "drop"}


@pytest.fixture(scope="session")
def _stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    held, dead = dead_port()
    desks: dict[str, Desk] = {}
    with held, ScriptedUpstream() as upstream:
        changes = {**CHANGES, "models": [*CHANGES["models"], *_known_to_codex()]}
        config = settings(upstream.port, dead, {**changes, "server": {"max_body": "8MiB"}})
        with Gateway(tmp_path_factory.mktemp("gateway"), config) as gateway:
            yield Stage(upstream, gateway, desks)
            for desk in desks.values():
                desk.close()


@pytest.fixture(scope="session")
def _keeping(_stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("keeping")
    kept: dict[str, Json] = {
        "database": {"url": f"sqlite+aiosqlite:///{folder}/kept.db"},
        "responses": {"store": "on"},
    }
    config = settings(_stage.upstream.port, 9, {**CHANGES, **kept, "server": {"max_body": "8MiB"}})
    with Gateway(folder, config) as gateway:
        yield Stage(_stage.upstream, gateway, _stage.desks)


@pytest.fixture
def keeping(_keeping: Stage) -> Stage:
    """Return a stage whose gateway keeps responses."""
    _keeping.upstream.forget()
    return _keeping


@pytest.fixture
def stage(_stage: Stage) -> Stage:
    _stage.upstream.forget()
    return _stage
