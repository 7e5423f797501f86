"""From dialect to dialect nothing is lost in silence, whichever there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import orjson
import pytest
from hypothesis import assume, given, settings

from gateway.surfaces.spoken import DIALECTS
from gateway.upstream import provider, providers
from gateway.upstream.provider import HttpCall, Provider, Target
from gateway.upstream.shared import taken_by
from gateway.wire.dialect import Call, Summary
from pricing.usage import Usage
from techniques.core.errors import RequestRejected
from techniques.core.events import Finished
from techniques.core.reply import Fold, Reply, replied, unfold
from techniques.core.request import Relay, Request
from tests.property.conversations import aspects, conversations, replies, told, unexplained
from tests.property.ollama import asked_in_ollama, expected_in_ollama, told_in_ollama

PROVIDERS: Final[Mapping[str, Provider]] = provider.load(providers)
BOTH_SIDES: Final = sorted(DIALECTS.keys() & PROVIDERS.keys())
"""Dialects that clients speak and providers, too: what is written on one side the other reads."""
CLIENTS: Final = [*BOTH_SIDES, "ollama"]
"""Dialects in which conversations are asked for."""
TARGET: Final = Target("m", "p", "m")
HOSTS: Final = [(name, "") for name in BOTH_SIDES] + [
    ("openai_chat", vendor) for vendor in ("openai", "openrouter")
]
"""Providers of each dialect, and whose they are: some hosts take more than others."""
SUMMARY: Final = Summary(Usage(), 1, None, "unknown")
MANY: Final = settings(max_examples=30, deadline=None, derandomize=True)


def sent(dialect: str, request: Request, vendor: str = "") -> HttpCall | None:
    """Return the call of *request* in *dialect*, None if it cannot be said there."""
    try:
        return PROVIDERS[dialect].encode(request, replace(TARGET, takes=taken_by(vendor)))
    except RequestRejected:
        return None


def read(dialect: str, call: HttpCall) -> Request:
    """Return what a client of *dialect* is understood to ask whose body is that of *call*."""
    return DIALECTS[dialect].decode(orjson.loads(call.body), call.body).relay.decode()


def asked(dialect: str, request: Request) -> Request | None:
    """Return *request* as a client of *dialect* might make it, None if it cannot."""
    if dialect == "ollama":
        return asked_in_ollama(request)
    call = sent(dialect, replace(request, dialect=dialect))
    return None if call is None else read(dialect, call)


def crossed(client: str, upstream: str, vendor: str, made: Request) -> tuple[Request, HttpCall]:
    """Return what *made* is in the words of *client*, and its call; where both can be said."""
    request = asked(client, made)
    call = None if request is None else sent(upstream, request, vendor)
    assume(call is not None)
    assert request is not None
    assert call is not None
    return request, call


@pytest.mark.parametrize("dialect", BOTH_SIDES)
def test_what_a_client_says_its_own_dialect_says_again(dialect: str) -> None:
    @MANY
    @given(conversations())
    def holds(made: Request) -> None:
        request = asked(dialect, made)
        assume(request is not None)
        assert request is not None
        call = sent(dialect, request)

        assert call is not None
        assert call.warnings == ()
        assert aspects(read(dialect, call)) == aspects(request)

    holds()


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(("upstream", "vendor"), HOSTS)
def test_between_dialects_nothing_is_lost_without_a_name(
    client: str, upstream: str, vendor: str
) -> None:
    @MANY
    @given(conversations())
    def holds(made: Request) -> None:
        request, call = crossed(client, upstream, vendor, made)

        after = read(upstream, call)

        assert unexplained(request, after, call.warnings) == {}

    holds()


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(("upstream", "vendor"), HOSTS)
def test_an_answer_ends_at_each_text_at_which_it_is_to_stop(
    client: str, upstream: str, vendor: str
) -> None:
    """Whether the provider is told of it, or the gateway stops itself."""

    @MANY
    @given(conversations())
    def holds(made: Request) -> None:
        request, call = crossed(client, upstream, vendor, made)

        known = read(upstream, call).sampling.stop
        target = replace(TARGET, takes=taken_by(vendor))
        for stop in filter(None, set(request.sampling.stop).difference(known)):
            reader = PROVIDERS[upstream].reader(request, target, streamed=False)
            raw = written(upstream, replied(f"so {stop} no"), streamed=False)
            ends = [*reader.feed(raw), *reader.end()]
            assert isinstance(ends[-1], Finished)
            assert ends[-1].reason == "stop_sequence"

    holds()


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(("upstream", "vendor"), HOSTS)
def test_a_strict_client_is_refused_what_would_be_lost(
    client: str, upstream: str, vendor: str
) -> None:
    @MANY
    @given(conversations())
    def holds(made: Request) -> None:
        request, call = crossed(client, upstream, vendor, made)

        strict = sent(upstream, replace(request, strict=True), vendor)

        if call.warnings:
            assert strict is None
        else:
            assert strict is not None
            assert strict.body == call.body

    holds()


@pytest.mark.parametrize("client", BOTH_SIDES)
@pytest.mark.parametrize("upstream", BOTH_SIDES)
def test_what_has_crossed_once_crosses_back(client: str, upstream: str) -> None:
    @MANY
    @given(conversations())
    def holds(made: Request) -> None:
        request = asked(client, made)
        call = None if request is None else sent(upstream, request)
        assume(call is not None)
        assert call is not None
        there = read(upstream, call)
        back = sent(client, there)

        assert back is not None
        assert unexplained(there, read(client, back), back.warnings) == {}

    holds()


def written(dialect: str, reply: Reply, *, streamed: bool) -> bytes:
    """Return *reply* as a client of *dialect* gets it."""
    relay = Relay(dialect, None, {"model": "m"}, lambda: Request("m"))
    call = Call(dialect, "m", streamed, relay, include_usage=True)
    if not streamed:
        return DIALECTS[dialect].whole(call, reply, SUMMARY)
    encoder = DIALECTS[dialect].encoder(call, "req_1", "m")
    return b"".join(map(encoder.feed, unfold(reply))) + encoder.end(SUMMARY)


def heard(dialect: str, reply: Reply, *, streamed: bool) -> Reply:
    """Return what a client of *dialect* hears of *reply*."""
    raw = written(dialect, reply, streamed=streamed)
    reader = PROVIDERS[dialect].reader(Request("m", stream=streamed), TARGET, streamed=streamed)
    fold = Fold()
    for event in (*reader.feed(raw), *reader.end()):
        fold.feed(event)
    return fold.reply()


@pytest.mark.parametrize("client", BOTH_SIDES)
@pytest.mark.parametrize("upstream", BOTH_SIDES)
def test_an_answer_says_the_same_whole_and_streamed(client: str, upstream: str) -> None:
    @MANY
    @given(replies())
    def holds(made: Reply) -> None:
        for reply in (heard(upstream, made, streamed=how) for how in (True, False)):
            streamed = heard(client, reply, streamed=True)
            whole = heard(client, reply, streamed=False)

            assert told(reply) == told(made)
            assert told(streamed) == told(whole) == told(made)

    holds()


@pytest.mark.parametrize("streamed", [True, False])
def test_an_answer_says_in_ollamas_words_what_it_says(*, streamed: bool) -> None:
    @MANY
    @given(replies())
    def holds(reply: Reply) -> None:
        raw = written("ollama", reply, streamed=streamed)

        assert told_in_ollama(raw) == expected_in_ollama(reply)

    holds()


def test_each_dialect_of_conversations_is_here() -> None:
    """So that a new one is not forgotten; in Ollama's other one a conversation is a text."""
    assert set(DIALECTS) - {"openai_embeddings", "ollama_generate"} == set(CLIENTS)
