"""Whatever clients write, it makes no series."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Final

import pytest

from techniques import catalog
from techniques.core.json import Json
from techniques.core.registry import load
from tests.conformance.stage import CHAT, MESSAGES
from tests.fakes.client import Exchange, request
from tests.fakes.gateway import KEYS, Gateway, hashed
from tests.fakes.script import dumps
from tests.patience import eventually

MODELS: Final = ("sim-small", "sim-large", "free")
MARK: Final = "odd"
QUESTIONS: Final = ("What is 17 * 23?", "Is 7 a prime number? Answer yes or no.", "Tell a story.")
HEADERS: Final = ("session", "tags", "run", "priority", "pin", "expose", "max-calls", "judge")
STRANGE: Final = ("user-agent", "x-request-id", "tracestate", "traceparent", "openai-organization")

CONFIG: Final[Mapping[str, Json]] = {
    "server": {"port": 0},
    "providers": {"sim": {"dialect": "openai_chat", "simulated": {"seed": 0}}},
    "models": [
        {"name": "sim-small", "provider": "sim", "price": {"input": 0.1, "output": 0.4}},
        {"name": "sim-large", "provider": "sim", "price": {"input": 1, "output": 4}},
        {"name": "free", "provider": "sim", "model": "sim-small"},
    ],
    "teams": [{"name": "research", "budget": {"usd": 5, "period": "month"}}],
    "keys": [
        {"name": "k1", "hash": hashed(KEYS["k1"])},
        {"name": "k2", "hash": hashed(KEYS["k2"]), "team": "research"},
    ],
    "reliability": {"judge": "sim-large"},
    "tool_quota": {"tools": {"web_search": {"calls": 3, "period": "1m"}}},
    "database": {"url": "none"},
}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with Gateway(tmp_path_factory.mktemp("series"), CONFIG) as running:
        yield running


class Client:
    """Sends requests of a shape that *shape* throws, with words that *words* throws."""

    def __init__(self, gateway: Gateway, shape: int, words: int) -> None:
        self._gateway = gateway
        self._shape = Random(shape)
        self._words = Random(words)

    def word(self) -> str:
        return f"{MARK}{self._words.getrandbits(64):016x}"

    def either(self, *known: str) -> str:
        """Return one of *known*, or a word of one's own."""
        return self._shape.choice([*known, ""]) or self.word()

    def send(self) -> None:
        """Send one request."""
        shape, path = self._shape, self._shape.choice([CHAT, CHAT, MESSAGES, "/v1/", "/v1/runs/"])
        if path.endswith("/"):
            path += self.word()
        headers = {f"x-lockgate-{name}": self.word() for name in shape.sample(HEADERS, 2)}
        headers |= {name: self.word() for name in shape.sample(STRANGE, 2)}
        if shape.random() < 0.7:  # most of what is odd is refused, and little would be counted
            headers = {name: headers[name] for name in headers if name not in _REFUSED}
        headers["authorization"] = f"Bearer {self.either(*KEYS.values(), *KEYS.values())}"
        technique = self.either("none", "self_consistency", "best_of_n", "harq_ir", "auto")
        if shape.random() < 0.6:
            headers["x-lockgate-technique"] = technique
        body: dict[str, Json] = {
            "model": self.either(*MODELS, *(f"self_consistency/{name}" for name in MODELS)),
            "max_tokens": 64,
            "messages": [{"role": "user", "content": shape.choice(QUESTIONS)}],
            "seed": shape.getrandbits(16),
        }
        if shape.random() < 0.3:
            body |= {"user": self.word(), "metadata": {self.word(): self.word()}, self.word(): 1}
        if shape.random() < 0.2:
            parameters = {"type": "object", "properties": {self.word(): {}}}
            function = {"name": self.either("web_search"), "parameters": parameters}
            body["tools"] = [{"type": "function", "function": function}]
        raw = dumps(body) if shape.random() < 0.95 else self.word().encode()
        Exchange(self._gateway.port, request(path, raw, headers)).whole()


_REFUSED: Final = {f"x-lockgate-{name}" for name in ("priority", "expose", "max-calls", "judge")}


def series(gateway: Gateway) -> set[str]:
    """Return the series that are there, when nothing is under way any more."""
    assert eventually(lambda: not _value(gateway, "lockgate_requests_in_flight"))
    lines = gateway.get("/metrics").body.decode().splitlines()
    return {line.rpartition(" ")[0] for line in lines if not line.startswith("#")}


def _value(gateway: Gateway, name: str) -> float:
    lines = gateway.get("/metrics").body.decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


def test_other_words_make_no_other_series(gateway: Gateway) -> None:
    seen = []
    for words in (1, 2):
        client = Client(gateway, shape=7, words=words)
        for _ in range(150):
            client.send()
        seen.append(series(gateway))

    before, after = seen
    assert not [line for line in after if MARK in line]
    assert len(before) > 500
    assert len(after - before) < 10  # a technique's dice may lead to a part that was not played


def test_labels_of_models_techniques_and_classes_are_names_of_the_configuration(
    gateway: Gateway,
) -> None:
    client = Client(gateway, shape=8, words=3)
    for _ in range(50):
        client.send()

    found: dict[str, set[str]] = {}
    for line in series(gateway):
        for name, value in re.findall(r'(\w+)="([^"]*)"', line):
            found.setdefault(name, set()).add(value)
    assert found["model"] | found["gen_ai_request_model"] <= {*MODELS, "", "*"}
    assert found["provider"] | found["gen_ai_provider_name"] <= {"sim", ""}
    assert found["technique"] <= {*load(catalog), "none"}
    assert found["key_class"] <= {"research", "no_team", "none", "other"}
    assert found["tool"] <= {"web_search"}
    assert not {"key", "user", "session", "tag", "tags", "run"} & found.keys()


@pytest.mark.skipif(shutil.which("promtool") is None, reason="Prometheus is not installed")
def test_prometheus_finds_nothing_to_complain_of(gateway: Gateway, tmp_path: Path) -> None:
    page = tmp_path / "metrics.txt"
    page.write_bytes(gateway.get("/metrics").body)

    with page.open() as text:
        done = subprocess.run(
            ["promtool", "check", "metrics"],
            stdin=text,
            capture_output=True,
            text=True,
            check=False,
        )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
