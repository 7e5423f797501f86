"""The driver over a real socket: answers."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from time import monotonic

import anyio
import pytest

from gateway.upstream.head import Headed
from gateway.upstream.provider import HttpCall, Target
from gateway.upstream.thinking import Thinks
from pricing.usage import Usage
from router_service.groundwork.aside import MANY
from techniques.core.channel import ask
from techniques.core.events import Warned
from techniques.core.request import Request, Sampling, said
from tests.fakes import script
from tests.fakes.script import Wait, begin, done, finish, raw, sse, text, usage
from tests.fakes.upstream import ScriptedUpstream
from tests.gateway.upstream.http_scene import (
    DIALECTS,
    QUESTION,
    channel,
    quiet,
)
from tests.patience import NEVER_S, SOON_S, until

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])


async def test_a_stream_is_read_and_the_call_carries_model_and_credential(
    upstream: ScriptedUpstream,
) -> None:
    upstream.plays(script.told("Hello", " there"))
    async with channel(upstream) as opened:
        reply = await ask(opened, QUESTION)

    assert (reply.text, reply.finish_reason, reply.usage) == ("Hello there", "stop", Usage(12, 4))
    (asked,) = upstream.asked
    assert (asked.method, asked.path) == ("POST", "/v1/chat/completions")
    assert (asked.header("authorization"), asked.body["model"]) == ("Bearer k", "real-model")


async def test_what_is_given_up_while_it_is_spelled_was_not_sent(
    upstream: ScriptedUpstream,
) -> None:
    """A call of very many turns is spelled in a thread, and its input would be paid for."""
    spelling, free = threading.Event(), threading.Event()

    class Slow(type(DIALECTS["openai_chat"])):  # type: ignore[misc]
        def encode(self, request: Request, target: Target) -> HttpCall:
            spelling.set()
            free.wait(5)
            return super().encode(request, target)  # type: ignore[no-any-return]

    async with channel(upstream) as opened:
        many = tuple(said("user", "hi") for _ in range(2 * MANY))
        call = replace(opened, provider=Slow()).open(Request("m", many))
        assert isinstance(call, Headed)
        entering = asyncio.create_task(call.__aenter__())
        await asyncio.to_thread(spelling.wait, 5)
        entering.cancel()
        free.set()
        with pytest.raises(asyncio.CancelledError):
            await entering

    assert call.is_unsent()
    assert not upstream.asked


async def test_a_whole_answer_is_read(upstream: ScriptedUpstream) -> None:
    upstream.plays(script.completion("fine"))
    async with channel(upstream) as opened:
        reply = await ask(opened, Request("m", (said("user", "hi"),)))

    assert (reply.text, reply.usage) == ("fine", Usage(12, 4))


@pytest.mark.parametrize("end", ["whole", "hold"])
async def test_the_answer_ends_with_its_terminal_frame_even_if_the_connection_does_not(
    upstream: ScriptedUpstream, end: script.End
) -> None:
    upstream.plays(sse(begin(), text("a"), finish(), usage(1, 1), done(), end=end))
    started = monotonic()
    async with channel(upstream) as opened:
        assert (await ask(opened, QUESTION)).text == "a"

    assert monotonic() - started < SOON_S


async def test_a_stream_that_is_to_stop_where_its_provider_is_not_told_is_closed_there(
    upstream: ScriptedUpstream,
) -> None:
    upstream.plays(sse(begin(), text("so EN"), text("D no"), end="hold"))
    stops = replace(QUESTION, sampling=Sampling(stop=("END",)), dialect="anthropic")
    async with channel(upstream) as opened:
        silent = replace(opened.target, thinks=Thinks(newer_limit=True))
        reply = await ask(replace(opened, target=silent), stops)

        assert await quiet(upstream)
    assert (reply.text, reply.stop_sequence, reply.usage) == ("so ", "END", None)
    assert "stop" not in upstream.asked[0].body


async def test_a_connection_that_was_read_to_its_end_is_used_again(
    upstream: ScriptedUpstream,
) -> None:
    upstream.plays(script.told("a"), script.told("b"), script.completion("c"))
    async with channel(upstream) as opened:
        for _ in range(3):
            await ask(opened, QUESTION)

    assert len({asked.connection for asked in upstream.asked}) == 1


async def test_leaving_early_closes_the_connection_at_once(upstream: ScriptedUpstream) -> None:
    upstream.plays(sse(begin(), text("a"), end="hold"))
    async with channel(upstream) as opened:
        async with opened.open(QUESTION) as events:
            await anext(aiter(events))
        assert await quiet(upstream)


async def test_being_cancelled_before_the_head_closes_the_connection(
    upstream: ScriptedUpstream,
) -> None:
    upstream.plays(raw(b"{}").later(NEVER_S))
    async with channel(upstream) as opened:
        async with anyio.create_task_group() as group:
            group.start_soon(ask, opened, QUESTION)
            await until(lambda: len(upstream.asked) == 1)
            group.cancel_scope.cancel()
        assert await quiet(upstream)

    assert len(upstream.asked) == 1


async def test_a_slow_but_steady_answer_is_never_given_up(upstream: ScriptedUpstream) -> None:
    steady = [part for i in range(8) for part in (text(str(i)), Wait(0.3))]
    upstream.plays(sse(begin(), *steady, finish(), done()))
    async with channel(upstream, first_byte_s=2.0, idle_s=2.0) as opened:
        assert (await ask(opened, QUESTION)).text == "01234567"


async def test_what_cannot_be_said_to_the_provider_is_warned_of_before_the_answer(
    upstream: ScriptedUpstream,
) -> None:
    upstream.plays(script.told("a"))
    asked = replace(QUESTION, dialect="anthropic", extra={"container": "c"})
    async with channel(upstream) as opened, opened.open(asked) as events:
        first = await anext(aiter(events))

    assert isinstance(first, Warned)


async def test_an_answer_in_one_piece_to_a_request_for_a_stream_is_read_all_the_same(
    upstream: ScriptedUpstream,
) -> None:
    upstream.plays(script.completion("fine"))
    async with channel(upstream) as opened:
        assert (await ask(opened, QUESTION)).text == "fine"


@pytest.mark.parametrize("named", ["Text/Event-Stream", "application/json", "text/plain", ""])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
async def test_a_stream_is_known_by_what_it_is_whatever_it_is_called(
    upstream: ScriptedUpstream, named: str, mark: bytes
) -> None:
    writes = [mark + begin(), text("FIRST "), text("second"), finish(), usage(12, 4), done()]
    upstream.plays(raw(b"".join(writes), headers={"content-type": named} if named else {}))
    async with channel(upstream) as opened:
        reply = await ask(opened, QUESTION)

    assert reply.text == "FIRST second"
