"""The driver over a real socket: all that may go wrong."""

from __future__ import annotations

from time import monotonic

import pytest

from techniques.core.channel import ask
from techniques.core.errors import FailureKind, StreamBroken
from tests.fakes import script
from tests.fakes.script import Answer, Wait, begin, done, finish, sse, text
from tests.fakes.upstream import ScriptedUpstream
from tests.gateway.upstream.http_scene import (
    PINGS,
    QUESTION,
    breaking,
    channel,
    failing,
)
from tests.patience import NEVER_S, SOON_S

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])


@pytest.mark.parametrize("end", ["fin", "reset"])
async def test_a_connection_that_breaks_before_any_content_can_be_tried_again(
    upstream: ScriptedUpstream, end: script.End
) -> None:
    upstream.plays(sse(b": ping\n\n", begin(), end=end))
    async with channel(upstream) as opened:
        failure = await failing(opened)

    assert (failure.kind, failure.retryable) == ("transport", True)


@pytest.mark.parametrize("end", ["fin", "reset"])
async def test_a_connection_that_breaks_in_mid_answer_is_a_broken_stream(
    upstream: ScriptedUpstream, end: script.End
) -> None:
    upstream.plays(sse(begin(), text("so f"), text("ar"), end=end))
    async with channel(upstream) as opened:
        came, failure = await breaking(opened)

    assert (came, failure.kind) == ("so far", "transport")


async def test_a_body_that_ends_in_order_but_without_an_end_of_the_answer_is_broken(
    upstream: ScriptedUpstream,
) -> None:
    upstream.plays(sse(begin(), text("half")))
    async with channel(upstream) as opened:
        came, failure = await breaking(opened)

    assert (came, failure.kind) == ("half", "transport")


async def test_an_error_inside_a_stream_before_content_is_that_failure(
    upstream: ScriptedUpstream,
) -> None:
    error = {"error": {"message": "Overloaded", "type": "server_error", "code": 503}}
    upstream.plays(sse(begin(), script.frame(error), done()))
    async with channel(upstream) as opened:
        failure = await failing(opened)

    assert not isinstance(failure, StreamBroken)
    assert failure.said.message == "Overloaded"


async def test_an_error_inside_a_stream_after_content_breaks_it_with_the_providers_words(
    upstream: ScriptedUpstream,
) -> None:
    error = {"error": {"message": "Overloaded", "type": "server_error"}}
    upstream.plays(sse(begin(), text("so far") + script.frame(error)))
    async with channel(upstream) as opened:
        came, failure = await breaking(opened)

    assert (came, failure.said.message) == ("so far", "Overloaded")


@pytest.mark.parametrize(
    "answer",
    [
        script.told("late").later(NEVER_S),
        sse(begin(), Wait(NEVER_S), text("late")),
        sse(*PINGS, text("late")),
    ],
    ids=["no head", "no content", "only comments"],
)
async def test_a_provider_that_does_not_begin_in_time_is_given_up(
    upstream: ScriptedUpstream, answer: Answer
) -> None:
    upstream.plays(answer)
    started = monotonic()
    async with channel(upstream, first_byte_s=0.2) as opened:
        failure = await failing(opened)

    assert (failure.kind, failure.retryable) == ("timeout", True)
    assert 0.15 < monotonic() - started < SOON_S


@pytest.mark.parametrize("rest", [(Wait(NEVER_S),), PINGS], ids=["nothing", "only comments"])
async def test_a_provider_that_falls_silent_in_mid_answer_is_given_up(
    upstream: ScriptedUpstream, rest: tuple[script.Write, ...]
) -> None:
    upstream.plays(sse(begin(), text("so far"), *rest, text("late"), finish(), done()))
    started = monotonic()
    async with channel(upstream, idle_s=0.2) as opened:
        came, failure = await breaking(opened)

    assert (came, failure.kind) == ("so far", "timeout")
    assert 0.15 < monotonic() - started < SOON_S


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, "rejected", False),
        (401, "authentication", False),
        (307, "server", True),
        (429, "rate_limited", True),
        (500, "server", True),
        (503, "overloaded", True),
    ],
)
async def test_a_refusal_is_the_failure_that_its_provider_says(
    upstream: ScriptedUpstream,
    status: int,
    kind: FailureKind | None,
    retryable: bool | None,  # noqa: FBT001
) -> None:
    upstream.plays(script.error(status, "why not", headers={"Retry-After": "7"}))
    async with channel(upstream) as opened:
        failure = await failing(opened)

    assert failure.said.status == status
    assert kind in {failure.kind, None}
    assert retryable in {failure.retryable, None}
    if status == 429:
        assert failure.retry_after == 7


async def test_after_a_refusal_the_connection_is_used_again(upstream: ScriptedUpstream) -> None:
    upstream.plays(script.error(429), script.told("a"))
    async with channel(upstream) as opened:
        await failing(opened)
        await ask(opened, QUESTION)

    assert len({asked.connection for asked in upstream.asked}) == 1


async def test_of_an_endless_refusal_only_the_beginning_is_read(
    upstream: ScriptedUpstream,
) -> None:
    page = b"<html>" + b"x" * 65_536
    upstream.plays(Answer((page, page), status=502, framing="chunked", end="hold"))
    async with channel(upstream) as opened:
        failure = await failing(opened)

    assert failure.said.status == 502
    assert len(failure.message) + len(failure.said.message) < 2000


@pytest.mark.parametrize("end", ["fin", "reset", "hold"])
async def test_a_refusal_whose_words_do_not_come_whole_is_still_that_refusal(
    upstream: ScriptedUpstream, end: script.End
) -> None:
    upstream.plays(Answer((b'{"error":',), status=401, framing="chunked", end=end))
    async with channel(upstream, first_byte_s=1.0) as opened:
        failure = await failing(opened)

    assert (failure.kind, failure.said.status) == ("authentication", 401)
