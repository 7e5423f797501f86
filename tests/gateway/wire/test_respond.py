"""How an answer goes to its client, and what is left when the client has gone."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import monotonic

import anyio
import orjson
import pytest

from gateway.metering.ledger import CallFinished, Ledger
from gateway.wire import respond
from gateway.wire.anthropic import AnthropicMessages
from gateway.wire.dialect import Call, Dialect, Encoder, Summary
from gateway.wire.ollama import OllamaChat
from gateway.wire.openai_chat import OpenAIChat
from gateway.wire.openai_chat.encode import ChunkEncoder
from pricing.usage import Usage
from techniques.core.errors import UpstreamFailed
from techniques.core.events import Event, Finished, TextDelta
from techniques.core.json import Json, JsonObject
from tests.fakes import script
from tests.gateway.surfaces.scene import (
    ENDED,
    TOLD,
    Client,
    Stage,
    chat,
    refused,
    streamed,
    whole,
)
from tests.patience import PATIENCE_S, SOON_S, until

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])
PING = b": ping\n\n"
BROKEN = UpstreamFailed("The connection broke.", "transport", retryable=True)


@pytest.fixture(params=[False, True], ids=["waited for", "told"], autouse=True)
def told_or_not(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Serve as under any server, and as under our own, which tells of a client's leaving."""
    monkeypatch.setattr(Client, "tells", request.param)


async def test_a_stream_is_passed_on_byte_for_byte_as_it_comes() -> None:
    stage = Stage(streamed())

    client = await stage.serve(chat(stream=True))

    assert (client.status, client.complete) == (200, True)
    assert client.content == b"".join(TOLD) + b"".join(ENDED[1:])
    assert client.headers["content-type"].startswith("text/event-stream")
    assert client.headers["cache-control"] == "no-cache"
    assert "content-length" not in client.headers
    assert stage.finished.outcome == "success"


async def test_each_piece_is_sent_when_it_is_there() -> None:
    client = Client()
    stage = Stage(streamed(*TOLD[:2], lambda: b"Hello" in client.content, *TOLD[2:], *ENDED))

    await stage.serve(chat(stream=True), client=client)

    assert b" there" in client.content


async def test_a_whole_answer_has_its_length() -> None:
    stage = Stage(whole("fine"))

    client = await stage.serve(chat())

    assert (client.status, len(client.sent)) == (200, 2)
    assert client.headers["content-length"] == str(len(client.content))
    assert client.headers["content-type"] == "application/json"
    assert client.json["choices"][0]["message"]["content"] == "fine"


async def test_a_stream_that_is_slow_to_begin_is_kept_alive() -> None:
    client = Client()
    stage = Stage(streamed(pinged(client, 2), *TOLD, *ENDED), keepalive_s=0.03)

    await stage.serve(chat(stream=True), client=client)

    assert client.content.startswith(PING * 2)
    assert client.content.replace(PING, b"").startswith(TOLD[0])
    assert stage.finished.outcome == "success"


async def test_a_stream_that_pauses_is_kept_alive() -> None:
    client = Client()
    pauses = streamed(*TOLD[:2], pinged(client, 2), *TOLD[2:], *ENDED)
    stage = Stage(pauses, keepalive_s=0.03)

    await stage.serve(chat(stream=True), client=client)

    assert client.content.replace(PING, b"") == b"".join((*TOLD, *ENDED[1:]))


async def test_a_stream_that_flows_is_not_pinged() -> None:
    steady = [part for _ in range(25) for text in TOLD for part in (text, 0.025)]
    stage = Stage(streamed(*steady, *ENDED), keepalive_s=2.0)  # in all longer, each far shorter

    client = await stage.serve(chat(stream=True))

    assert PING not in client.content


async def test_a_whole_answer_is_not_pinged() -> None:
    answer = whole("fine")
    answer.steps = (0.06, *answer.steps)

    client = await Stage(answer, keepalive_s=0.02).serve(chat())

    assert client.json["choices"][0]["message"]["content"] == "fine"


@pytest.mark.parametrize("stream", [True, False])
async def test_a_failure_before_the_answer_begins_has_its_own_status(*, stream: bool) -> None:
    stage = Stage(refused(429, "slow down"))

    client = await stage.serve(chat(stream=stream))

    assert (client.status, client.complete) == (429, True)
    assert client.headers["content-type"] == "application/json"
    assert client.json["error"]
    assert (stage.finished.outcome, stage.finished.status) == ("upstream_error", 429)


async def test_a_failure_after_a_ping_is_told_inside_the_stream() -> None:
    client = Client()
    stage = Stage(streamed(pinged(client), BROKEN), keepalive_s=0.02)

    await stage.serve(chat(stream=True), client=client)

    assert (client.status, client.complete) == (200, True)
    told = client.content.replace(PING, b"")
    assert told.startswith(b"data: ")
    assert b'"error"' in told
    assert b"[DONE]" not in told
    assert stage.finished.outcome == "upstream_error"


async def test_a_stream_that_breaks_ends_in_an_error_and_not_as_if_it_were_whole() -> None:
    stage = Stage(streamed(*TOLD[:2], BROKEN))

    client = await stage.serve(chat(stream=True))

    assert (client.status, client.complete) == (200, True)
    assert client.content.startswith(b"".join(TOLD[:2]))
    assert b'"error"' in client.content
    assert b"[DONE]" not in client.content
    assert (stage.finished.outcome, stage.finished.status) == ("truncated", 200)


async def test_a_whole_answer_that_breaks_is_a_failure_and_no_half_answer() -> None:
    stage = Stage(streamed(*TOLD[:2], BROKEN))

    client = await stage.serve(chat())

    assert client.status >= 500
    assert b"Hello" not in client.content
    assert stage.finished.outcome == "truncated"


def pinged(client: Client, times: int = 1) -> Callable[[], bool]:
    return lambda: client.content.count(PING) >= times


def waits(stage: Stage, calls: int = 1) -> Callable[[], bool]:
    """Tell whether so many providers were called, and have nothing to say any more."""
    given = stage.upstream.given
    return lambda: len(given) >= calls and not any(answer.steps for answer in given)


async def leaving(
    stage: Stage, body: Json, client: Client, when: Callable[[], bool] | None = None
) -> float:
    """Serve *body* to a client that leaves; return how long it took to end from then on."""
    left = 0.0
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(stage.serve, body, None, client)
            await until(when or waits(stage))
            left = monotonic()
            client.gone.set()
    return monotonic() - left


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("begun", [True, False])
async def test_when_the_client_leaves_everything_is_closed_within_a_moment(
    *, stream: bool, begun: bool
) -> None:
    stage = Stage(streamed(*(TOLD[:2] if begun else ()), 60.0))

    client = Client()
    seen = (lambda: b"Hello" in client.content) if stream and begun else waits(stage)

    took = await leaving(stage, chat(stream=stream), client, seen)

    assert took < SOON_S
    assert stage.upstream.given[0].closed
    assert not client.complete
    finished = stage.finished
    assert (finished.outcome, [row.outcome for row in finished.rows]) == (
        "client_disconnect",
        ["client_disconnect"],
    )
    assert finished.cancel_s is not None
    assert finished.cancel_s < SOON_S
    assert finished.status == (200 if stream and begun else 499)


async def test_what_a_client_read_before_it_left_is_paid_for() -> None:
    stage = Stage(streamed(*TOLD[:2], 60.0))

    client = Client()

    await leaving(stage, chat(stream=True), client, lambda: b"Hello" in client.content)

    (row,) = stage.finished.rows
    assert row.estimated
    assert row.usage.output_tokens == 2


async def test_a_client_that_leaves_while_it_is_being_pinged_is_seen() -> None:
    stage = Stage(streamed(60.0), keepalive_s=0.01)

    client = Client()

    took = await leaving(stage, chat(stream=True), client, pinged(client))

    assert took < SOON_S
    assert stage.finished.outcome == "client_disconnect"


async def test_a_client_that_leaves_during_a_technique_ends_all_its_calls() -> None:
    stage = Stage(*(streamed(60.0) for _ in range(8)))
    body = chat(reliability={"technique": "self_consistency"})

    took = await leaving(stage, body, Client(), waits(stage, 2))

    assert took < SOON_S
    assert len(stage.upstream.given) > 1
    assert all(answer.closed for answer in stage.upstream.given)
    assert {row.outcome for row in stage.finished.rows} == {"client_disconnect"}


async def test_a_client_that_leaves_after_the_last_byte_has_had_its_answer() -> None:
    stage = Stage(streamed())
    client = Client()
    client.on_end = client.gone.set

    await stage.serve(chat(stream=True), client=client)

    assert client.complete
    assert stage.finished.outcome == "success"


async def test_the_task_that_serves_can_be_cancelled_from_outside() -> None:
    stage = Stage(streamed(60.0))
    async with anyio.create_task_group() as group:
        group.start_soon(stage.serve, chat(stream=True))
        await until(waits(stage))
        group.cancel_scope.cancel()

    assert stage.upstream.given[0].closed
    (row,) = [fact for fact in stage.facts if isinstance(fact, CallFinished)]
    assert row.outcome == "cancelled"


async def test_a_stream_that_is_another_dialects_is_encoded() -> None:
    stage = Stage(streamed(), dialect="anthropic")

    client = await stage.serve(chat(stream=True, max_tokens=9))

    assert client.content.startswith(b"event: message_start\n")
    assert client.content.count(b"event: message_stop\n") == 1
    assert stage.finished.outcome == "success"


async def test_usage_is_passed_on_to_who_asked_for_it() -> None:
    stage = Stage(streamed())

    client = await stage.serve(chat(stream=True, stream_options={"include_usage": True}))

    assert script.usage(12, 4) in client.content


class _LinesEncoder(ChunkEncoder):
    def ping(self) -> bytes:
        return b"{}\n"

    def held(self, said: JsonObject) -> bytes:
        return b'{"held":"%s"}\n' % said["reason"].encode()


class _Lines(OpenAIChat):
    stream_type = b"application/x-ndjson"

    def encoder(self, call: Call, request_id: str, model: str) -> Encoder:
        return _LinesEncoder(call, request_id, model)


async def _held(dialect: Dialect, keepalive_s: float, lines: int = 1) -> Client:
    """Return the client of an answer that a rate limit holds until it has had so many *lines*."""
    ledger, client = Ledger(()), Client()

    @asynccontextmanager
    async def answer() -> AsyncGenerator[AsyncIterator[Event], None]:
        async def events() -> AsyncIterator[Event]:
            ledger.holds.hold("l1", 900, 2, "rpm")
            await until(lambda: b"held" in client.content)
            ledger.holds.release("l1")
            await until(lambda: client.content.count(b"\n") >= lines)
            yield TextDelta("Hello")
            yield Finished()

        yield events()

    body = chat(stream=True, max_tokens=9)
    call = dialect.decode(body, b"")
    await client.receive()
    summary = Summary(Usage(), 1, None, "unknown")
    exchange = respond.Exchange(
        dialect, call, client.receive, client.send, ledger, list, lambda: summary
    )
    exchange.leaving = client.gone.tell if client.tells else None
    await exchange.respond(answer(), lambda: dialect.encoder(call, "r", "m"), keepalive_s)
    return client


async def test_a_stream_that_is_no_event_stream_is_kept_alive_in_its_own_form(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(respond, "_HELD_AFTER_S", 0.01)

    client = await _held(_Lines(), 0.03, lines=2)

    assert client.headers["content-type"] == "application/x-ndjson"
    assert b'{"held":"rpm"}\n' in client.content
    assert b"{}\n" in client.content
    assert b"\n: " not in client.content


async def test_a_hold_is_a_line_without_text_to_clients_of_ollama(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(respond, "_HELD_AFTER_S", 0.01)

    client = await _held(OllamaChat(), 0.03, lines=2)

    told = [orjson.loads(line) for line in client.content.splitlines()]
    state = {"state": "held", "eta_ms": 900, "position": 2, "reason": "rpm"}
    assert told[0]["lockgate"] == state
    assert [line["done"] for line in told] == [False] * (len(told) - 1) + [True]
    assert "".join(line["message"]["content"] for line in told) == "Hello"
    assert any(line["message"]["content"] == "" and "lockgate" not in line for line in told[:-1])


@pytest.mark.parametrize("dialect", [OpenAIChat(), AnthropicMessages()], ids=lambda d: d.name)
async def test_an_event_stream_tells_of_a_hold_in_a_comment(
    dialect: Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(respond, "_HELD_AFTER_S", 0.01)

    client = await _held(dialect, PATIENCE_S)

    assert client.headers["content-type"] == "text/event-stream; charset=utf-8"
    told = b': lockgate {"state":"held","eta_ms":900,"position":2,"reason":"rpm"}\n\n'
    assert client.content.startswith(told)
