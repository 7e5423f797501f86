"""How a call was served is told to every client in its vendor's words, whole and streamed."""

from __future__ import annotations

from typing import Final

import orjson
import pytest

from gateway.surfaces.spoken import DIALECTS
from gateway.wire.dialect import Call, Summary
from pricing.usage import Usage
from techniques.core.json import Json
from techniques.core.reply import Fold, Reply, replied, unfold
from techniques.core.request import Relay, Request

SUMMARY: Final = Summary(Usage(), 1, None, "unknown")
CLIENTS: Final = ("openai_chat", "openai_responses", "anthropic")
TOLD: Final = [
    ("standard", "default", "standard"),
    ("default", "default", "standard"),
    ("priority", "priority", "priority"),
    ("flex", "flex", None),
    ("fast", "priority", None),
    ("batch", None, "batch"),
    ("of_the_future", None, None),
    ("", None, None),
]


def said(mode: str) -> Reply:
    reply = replied("hi", usage=Usage(3, 1))
    folded = Fold()
    for event in unfold(Reply(reply.parts, usage=reply.usage, mode=mode)):
        folded.feed(event)
    return folded.reply()


def written(dialect: str, reply: Reply, *, streamed: bool, usage: bool = True) -> bytes:
    relay = Relay(dialect, None, {"model": "m"}, lambda: Request("m"))
    call = Call(dialect, "m", streamed, relay, include_usage=usage)
    if not streamed:
        return DIALECTS[dialect].whole(call, reply, SUMMARY)
    encoder = DIALECTS[dialect].encoder(call, "req_1", "m")
    return b"".join(map(encoder.feed, unfold(reply))) + encoder.end(SUMMARY)


def tiers(raw: bytes) -> list[Json]:
    """Return each tier that is told in *raw*, in order."""
    lines = (
        [line.removeprefix(b"data: ") for line in raw.splitlines()] if b"data: " in raw else [raw]
    )
    return [tier for line in lines if line.startswith(b"{") for tier in _in(orjson.loads(line))]


def _in(value: Json) -> list[Json]:
    if isinstance(value, dict):
        own = [value["service_tier"]] if "service_tier" in value else []
        return own + [tier for inner in value.values() for tier in _in(inner)]
    return [tier for inner in value for tier in _in(inner)] if isinstance(value, list) else []


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(("mode", "openais", "anthropics"), TOLD)
def test_a_tier_is_told(
    client: str, mode: str, openais: str | None, anthropics: str | None, *, streamed: bool
) -> None:
    found = tiers(written(client, said(mode), streamed=streamed))

    wanted = anthropics if client == "anthropic" else openais
    if client == "openai_responses":
        wanted = wanted or "default"  # which the API says where nothing is known
    assert found[-1:] == ([] if wanted is None else [wanted])


def test_a_stream_without_usage_tells_it_with_the_end() -> None:
    raw = written("openai_chat", said("flex"), streamed=True, usage=False)

    assert tiers(raw) == ["flex"]
    (last,) = [line for line in raw.splitlines() if b"service_tier" in line]
    assert orjson.loads(last.removeprefix(b"data: "))["choices"][0]["finish_reason"] == "stop"
