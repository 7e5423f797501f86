"""The first answer is passed on while it is given, once it is known to be the answer."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from random import Random

import anyio
import pytest

from techniques import catalog
from techniques.catalog.acm import ByTable, acm
from techniques.core.channel import Channels, Member, TechniqueChannel
from techniques.core.errors import DeadlinePassed, StreamBroken, UpstreamFailed
from techniques.core.events import Event, Finished, Note, Started, TextDelta, Warned
from techniques.core.registry import load
from techniques.core.request import Request, ResponseFormat, Tool
from techniques.core.task import Task
from tests.techniques.delegation import Shop, over, row
from tests.techniques.scene import asks

CARDS = load(catalog)
TOKENS = 10
EASY = ByTable(table=(row(0, 0.5, "baseline"), row(0.5, 1, "hard")), pilot_tokens=4)


@dataclass
class Slow:
    """Gives a token a second, each as likely as *probability*; then ends, or fails."""

    probability: float = 0.9
    breaks: UpstreamFailed | None = None
    open_calls: int = 0

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncGenerator[AsyncIterator[Event], None]:
        self.open_calls += 1
        try:
            async with aclosing(self._tokens()) as events:
                yield events
        finally:
            self.open_calls -= 1

    async def _tokens(self) -> AsyncGenerator[Event, None]:
        yield Started("id", "model")
        for place in range(TOKENS):
            await anyio.sleep(1)
            told = {"token": f"{place} ", "logprob": math.log(self.probability)}
            yield TextDelta(f"{place} ", {"content": [told]})
        if self.breaks is not None:
            raise self.breaks
        yield Finished()


@dataclass
class Pieces(Slow):
    """Says tokens with their probabilities, so many *at_once*."""

    said: Sequence[tuple[str, float]] = ()
    at_once: int = 1

    async def _tokens(self) -> AsyncGenerator[Event, None]:
        yield Started("id", "model")
        for start in range(0, len(self.said), self.at_once):
            piece = self.said[start : start + self.at_once]
            told = [{"token": text, "logprob": math.log(share)} for text, share in piece]
            yield TextDelta("".join(text for text, _ in piece), {"content": told})
        yield Finished()


async def heard(
    channel: Slow, options: ByTable, request: Request, deadline: float | None = None
) -> list[tuple[float, Event]]:
    """Play ``acm`` and return when each event came."""
    member = Member("m", "model", channel)
    cards = Shop().cards("hard") | {"baseline": CARDS["baseline"]}
    task = Task(request, options, Random(1), deadline=deadline)
    began = anyio.current_time()
    async with TechniqueChannel(over(acm, cards), task, Channels(member, (member,))).open(
        request
    ) as events:
        came = [(anyio.current_time() - began, event) async for event in events]
    assert channel.open_calls == 0
    return came


def texts(came: list[tuple[float, Event]]) -> list[tuple[float, str]]:
    return [(when, event.text) for when, event in came if isinstance(event, TextDelta)]


async def test_once_it_is_known_to_be_the_answer_it_comes_as_it_is_given() -> None:
    came = await heard(Slow(), EASY, asks())

    assert texts(came) == [(max(4, place + 1), f"{place} ") for place in range(TOKENS)]


async def test_what_was_decided_and_what_is_to_say_of_it_comes_first() -> None:
    events = [event for _, event in await heard(Slow(), EASY, asks())]
    first = next(place for place, event in enumerate(events) if isinstance(event, TextDelta))

    notes = [event.topic for event in events if isinstance(event, Note)]
    assert notes == ["progress", "delegation"]
    assert Warned("uncalibrated", "model") in events[:first]
    assert isinstance(events[-1], Finished)
    assert sum(isinstance(event, Started) for event in events) == 1


async def test_probabilities_are_passed_on_only_to_who_asked_for_them() -> None:
    for wanted in (False, True):
        request = replace(asks(), sampling=replace(asks().sampling, logprobs=wanted))
        came = await heard(Slow(), EASY, request)

        told = [event.logprobs for _, event in came if isinstance(event, TextDelta)]
        assert all((logprobs is not None) == wanted for logprobs in told)


@pytest.mark.parametrize("at_once", [1, 3, TOKENS])
@pytest.mark.parametrize(("early", "later", "passed_on"), [(0.9, 0.01, True), (0.2, 1.0, False)])
async def test_the_first_tokens_decide_however_many_come_at_once(
    at_once: int, early: float, later: float, *, passed_on: bool
) -> None:
    said = [(f"{place} ", early if place < 4 else later) for place in range(TOKENS)]
    came = await heard(Pieces(said=said, at_once=at_once), EASY, asks())

    assert "".join(text for _, text in texts(came)) == "".join(text for text, _ in said)
    notes = [event.data for _, event in came if isinstance(event, Note)]
    assert notes[-1]["technique"] == "baseline"
    first = notes[-1]["difficulty"] == pytest.approx(1 - early)
    assert first == passed_on


async def test_a_hard_questions_answer_is_held_back() -> None:
    assert texts(await heard(Slow(0.2), EASY, asks())) == [(TOKENS, "hard")]


@pytest.mark.parametrize(
    "request_",
    [asks(tools=(Tool("look"),)), asks(response_format=ResponseFormat("json_object"))],
)
async def test_an_answer_that_must_keep_a_form_is_held_back_to_its_end(request_: Request) -> None:
    came = texts(await heard(Slow(), EASY, request_))

    assert {when for when, _ in came} == {TOKENS}


async def test_it_can_be_held_back_always() -> None:
    came = texts(await heard(Slow(), EASY.model_copy(update={"pilot_tokens": 0}), asks()))

    assert {when for when, _ in came} == {TOKENS}


async def test_an_answer_that_breaks_off_once_some_was_passed_on_is_a_broken_one() -> None:
    with pytest.raises(StreamBroken):
        await heard(Slow(breaks=StreamBroken("gone")), EASY, asks())


async def test_an_answer_that_breaks_off_before_that_is_lost_and_another_technique_goes_on() -> (
    None
):
    options = ByTable(table=EASY.table, pilot_tokens=TOKENS + 1)
    came = await heard(Slow(breaks=StreamBroken("gone")), options, asks())

    assert texts(came) == [(TOKENS, "hard")]


async def test_a_deadline_before_the_first_answer_ended_is_told() -> None:
    with pytest.raises(DeadlinePassed):
        await heard(Slow(0.2), EASY, asks(), deadline=anyio.current_time() + 5)
