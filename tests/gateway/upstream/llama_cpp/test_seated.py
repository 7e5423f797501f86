"""What is sent to a slot, and what is read of its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import orjson
import pytest

from gateway.upstream import provider, providers
from gateway.upstream.http import HttpChannel, Patience
from gateway.upstream.llama_cpp.seated import Computed, SeatedChannel, computed_of
from gateway.upstream.provider import Target
from techniques.core.channel import ask
from techniques.core.errors import UpstreamFailed
from techniques.core.json import Json
from techniques.core.request import Relay, Request, said
from tests.fakes.llama_cpp import LlamaTransport
from tests.gateway.upstream.llama_cpp.scene import ANN, Home

DIALECTS = provider.load(providers)
QUESTION = Request("m", (said("user", "once upon a time there was a fox"),))


def channel(home: Home, session: object = None) -> SeatedChannel:
    inner = HttpChannel(
        LlamaTransport(home.llama, "/v1"),
        DIALECTS["openai_chat"],
        Target("local", "llama", "m"),
        Patience(10, 10),
    )
    return SeatedChannel(inner, home.host, ANN if session is None else None)


async def test_a_session_is_sent_to_its_slot_and_finds_what_was_computed(home: Home) -> None:
    await home.host.look()
    await ask(channel(home), QUESTION)
    reply = await ask(channel(home), QUESTION)
    first, second = home.llama.calls()

    assert first["id_slot"] == second["id_slot"]
    assert second["cache_prompt"] is True
    assert reply.usage is not None
    assert reply.usage.cache_read_tokens == 8
    assert home.counts.tokens == 8


@pytest.mark.parametrize(
    ("own", "sent"), [({}, True), ({"cache_prompt": True}, True), ({"cache_prompt": False}, False)]
)
async def test_a_caller_may_do_without_the_cache_but_not_choose_a_slot(
    home: Home, own: Mapping[str, Json], *, sent: bool
) -> None:
    await home.host.look()
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "id_slot": 7, **own}
    relay = Relay("openai_chat", orjson.dumps(body), body, lambda: QUESTION)
    await ask(channel(home), Request("m", relay=relay))
    (call,) = home.llama.calls()

    seat = home.host.seats.of(ANN)
    assert seat is not None
    assert (call["id_slot"], call["cache_prompt"]) == (seat.id, sent)


async def test_where_no_slot_is_free_no_slot_is_named(home: Home) -> None:
    await home.host.look()
    for _ in range(2):
        await home.host.sit(None)
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "id_slot": 1}
    relay = Relay("openai_chat", orjson.dumps(body), body, lambda: QUESTION)
    await ask(channel(home), Request("m", relay=relay))

    assert "id_slot" not in home.llama.calls()[0]


async def test_a_judge_does_not_sit_in_the_sessions_slot(home: Home) -> None:
    await home.host.look()
    await ask(channel(home), QUESTION)
    await ask(channel(home), replace(QUESTION, role="judge"))
    answer, judge = home.llama.calls()

    assert answer["id_slot"] != judge["id_slot"]


async def test_a_slot_is_free_again_when_the_call_has_failed(home: Home) -> None:
    await home.host.look()
    home.llama.down = True
    with pytest.raises(UpstreamFailed):
        await ask(channel(home), QUESTION)

    assert [seat.busy for seat in home.host.seats.rows] == [False, False]


async def test_a_slot_is_free_again_when_the_caller_has_left(home: Home) -> None:
    await home.host.look()
    async with channel(home).open(QUESTION):
        assert sum(seat.busy for seat in home.host.seats.rows) == 1

    assert [seat.busy for seat in home.host.seats.rows] == [False, False]


TIMINGS = b'"timings":{"cache_n":230,"prompt_n":1,"prompt_ms":31.9,"predicted_n":4}'


@pytest.mark.parametrize(
    "tail",
    [
        b"{" + TIMINGS + b"}",
        b'data: {"choices":[],' + TIMINGS + b"}\n\ndata: [DONE]\n\n",
        b'{"content":"\\"timings\\":{}","timings": ' + TIMINGS.partition(b":")[2] + b"}",
    ],
)
def test_what_was_computed_is_read_from_the_end_of_the_answer(tail: bytes) -> None:
    assert computed_of(tail) == Computed(230, 1, 4, 0.0319)


@pytest.mark.parametrize(
    "tail",
    [b"", b"data: [DONE]", b'"timings":{"cache_n":1}', b'"timings":{cut', b'"timings":{"a":}'],
)
def test_an_answer_that_was_cut_off_tells_nothing(tail: bytes) -> None:
    assert computed_of(tail) is None
