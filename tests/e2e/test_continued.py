"""A stream that broke off is gone on with by the model, in both dialects, over a real upstream."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from techniques.core.json import Json
from tests.conformance.stage import CHAT, MESSAGES, Streamed
from tests.fakes.client import Exchange, request
from tests.fakes.gateway import KEYS, Gateway, settings
from tests.fakes.script import begin, done, dumps, finish, sse, text, usage
from tests.fakes.upstream import ScriptedUpstream, dead_port

WORD = "word after word "
BEGUN = WORD * 80
REST = " to the end."
USED = usage(300, 4)


@pytest.fixture
def upstream() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as playing:
        yield playing


@pytest.fixture
def gateway(tmp_path: Path, upstream: ScriptedUpstream) -> Iterator[Gateway]:
    model: Json = {"name": "goes-on", "provider": "oa", "model": "real-on"}
    able: Json = {"capabilities": {"prefill": "prefix"}}
    journal: Json = {"resume_stream": "prefill"}
    held, dead = dead_port()
    changes: Json = {
        "models": [{**model, **able}],
        "journal": journal,
        "database": {"url": f"sqlite:///{tmp_path}/runs.db"},
        "upstream": {"retries": 0},
    }
    with held, Gateway(tmp_path, settings(upstream.port, dead, changes)) as running:
        yield running


def streamed(gateway: Gateway, path: str) -> Streamed:
    body: Json = {
        "model": "goes-on",
        "messages": [{"role": "user", "content": "Go on and on."}],
        "max_tokens": 1000,
        "stream": True,
    }
    said = {"authorization": f"Bearer {KEYS['k1']}", "x-lockgate-run": "long"}
    with Exchange(gateway.port, request(path, dumps(body), said)) as answer:
        assert answer.status == 200, answer.whole().body
        return Streamed(answer.headers, list(answer.events()), answer.started)


def words(answer: Streamed, path: str) -> str:
    return answer.joined() if path == CHAT else answer.block_texts


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_the_same_request_once_more_hears_all_of_it_and_pays_for_the_rest(
    gateway: Gateway, upstream: ScriptedUpstream, path: str
) -> None:
    upstream.plays(
        sse(begin(), *(text(WORD) for _ in range(80)), end="reset"),
        sse(begin(), text(REST), finish(), USED, done()),
    )
    first = streamed(gateway, path)
    again = streamed(gateway, path)

    assert BEGUN.startswith(words(first, path))
    assert first.errors
    assert words(again, path) == BEGUN.rstrip() + REST
    assert not again.errors
    asked = upstream.asked[1].body
    assert asked["messages"][-1] == {
        "role": "assistant",
        "content": BEGUN.rstrip(),
        "prefix": True,
    }
    assert asked["max_tokens"] < 1000
    assert len(upstream.asked) == 2
