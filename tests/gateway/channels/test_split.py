from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TypeAlias

import anyio
import orjson
import pytest

from gateway.channels.split import SplitChannel
from gateway.upstream.embeddings.batches import Batch
from pricing.usage import Usage
from techniques.core.errors import UpstreamFailed
from techniques.core.events import Event, Finished, Relayed, UsageReported, Warned
from techniques.core.json import Json
from techniques.core.relayed import EMBEDDING, EMBEDDINGS
from techniques.core.request import Relay, Request
from tests.fakes.embeddings import answer_to

Answer: TypeAlias = Callable[[Json], list[Event]]


class Host:
    """A channel that answers by *answer*, each call after the seconds for its first input."""

    def __init__(self, answer: Answer, waits: Mapping[str, float] | None = None) -> None:
        self.asked: list[Json] = []
        self.open_calls = 0
        self.most = 0
        self._answer = answer
        self._waits = waits or {}

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncGenerator[AsyncIterator[Event], None]:
        assert request.relay is not None
        body = dict(request.relay.body)
        self.asked.append(body["input"])
        self.open_calls += 1
        self.most = max(self.most, self.open_calls)
        try:
            await anyio.sleep(self._waits.get(body["input"][0], 0))
            yield _each(self._answer(body))
        finally:
            self.open_calls -= 1


async def _each(events: list[Event]) -> AsyncGenerator[Event, None]:
    for event in events:
        yield event


def well(body: Json) -> list[Event]:
    told = answer_to(body)
    used = UsageReported(Usage(told["usage"]["prompt_tokens"]))
    return [Relayed(orjson.dumps(told)), used, Finished()]


def asked(*inputs: str) -> Request:
    body = {"model": "m", "input": list(inputs)}
    relay = Relay(EMBEDDINGS, orjson.dumps(body), body, lambda: Request("m"))
    return Request("m", relay=relay, role=EMBEDDING)


async def heard(channel: SplitChannel, request: Request) -> list[Event]:
    async with channel.open(request) as events:
        return [event async for event in events]


async def test_what_fits_goes_through_as_it_is() -> None:
    host, request = Host(well), asked("a", "b")

    events = await heard(SplitChannel(host, Batch()), request)

    assert events == well({"model": "m", "input": ["a", "b"]})
    assert host.asked == [["a", "b"]]


async def test_parts_are_joined_in_order_whichever_comes_first() -> None:
    words = [f"word {n}" for n in range(7)]
    host = Host(well, dict(zip(words[::2], (4, 3, 2, 1), strict=True)))

    events = await heard(SplitChannel(host, Batch(inputs=2)), asked(*words))

    whole, used, ended = events
    assert isinstance(whole, Relayed)
    assert orjson.loads(whole.raw) == answer_to({"model": "m", "input": words})
    assert (used, ended) == (UsageReported(Usage(14)), Finished())
    assert sorted(host.asked) == [words[0:2], words[2:4], words[4:6], words[6:]]


async def test_a_few_parts_are_asked_for_at_once() -> None:
    host = Host(well, dict.fromkeys("abcdefghij", 1.0))
    began = anyio.current_time()

    await heard(SplitChannel(host, Batch(inputs=1)), asked(*"abcdefghij"))

    assert host.most == 4
    assert anyio.current_time() - began == pytest.approx(3.0)


async def test_the_first_part_that_fails_ends_the_others_before_anything_is_told() -> None:
    def fails_at_b(body: Json) -> list[Event]:
        if body["input"] == ["b"]:
            raise UpstreamFailed("no b", "server", retryable=True)
        return well(body)

    host = Host(fails_at_b, {**dict.fromkeys("acd", 9.0), "b": 1.0})
    began = anyio.current_time()

    with pytest.raises(UpstreamFailed, match="no b"):
        async with SplitChannel(host, Batch(inputs=1)).open(asked(*"bacd")):
            pytest.fail("an answer without one of its parts has begun")

    assert anyio.current_time() - began == pytest.approx(1.0)
    assert (host.open_calls, len(host.asked)) == (0, 4)


async def test_of_parts_that_fail_together_one_is_told_and_none_that_waits_is_asked_for() -> None:
    def fails(body: Json) -> list[Event]:
        raise UpstreamFailed(f"no {body['input'][0]}", "server")

    host = Host(fails, dict.fromkeys("abcdefgh", 1.0))

    with pytest.raises(UpstreamFailed, match="no "):
        await heard(SplitChannel(host, Batch(inputs=1)), asked(*"abcdefgh"))

    assert len(host.asked) == 4


async def test_who_leaves_leaves_no_part_behind() -> None:
    host = Host(well, dict.fromkeys("abcd", 9.0))

    with anyio.move_on_after(1):
        await heard(SplitChannel(host, Batch(inputs=1)), asked(*"abcd"))

    assert (host.most, host.open_calls) == (4, 0)


async def test_usage_that_one_part_does_not_tell_is_not_told_of_the_whole() -> None:
    def uncounted(body: Json) -> list[Event]:
        events = well(body)
        return [events[0], events[2]] if body["input"] == ["b"] else events

    events = await heard(SplitChannel(Host(uncounted), Batch(inputs=1)), asked("a", "b"))

    assert not [event for event in events if isinstance(event, UsageReported)]


async def test_warnings_of_parts_are_passed_on() -> None:
    warning = Warned("field_dropped", "user")
    host = Host(lambda body: [warning, *well(body)])

    events = await heard(SplitChannel(host, Batch(inputs=1)), asked("a", "b"))

    assert events[:2] == [warning, warning]
