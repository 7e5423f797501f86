"""Everything around everything: all wrappers, techniques within techniques, impatient callers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from random import Random
from typing import cast

import anyio
import pytest

from gateway.channels.rescued import rescued
from gateway.channels.retrying import RetryPolicy
from gateway.channels.stack import Stack
from gateway.metering.caps import Caps, RunAllowance
from gateway.metering.ledger import CallRetried, Fact, Ledger
from gateway.policy.models import Model
from gateway.upstream.http import HttpChannel
from gateway.upstream.provider import Target
from pricing.price import Price
from techniques import catalog
from techniques.core.channel import Channel, Channels, Member, TechniqueChannel, ask
from techniques.core.errors import StreamBroken, UpstreamFailed
from techniques.core.events import Event, Finished, TextDelta, Warned
from techniques.core.registry import Card, load
from techniques.core.reply import Reply, replied
from techniques.core.request import Request, said
from techniques.core.task import Task
from techniques.testing import Line, Script, ScriptedChannel
from tests.techniques.scene import usual

CARDS = load(catalog)
QUESTION = Request("m", (said("user", "Tell me of the sea."),))
PRICE = Price(input=10, output=100)
POLICY = RetryPolicy(retries=1, backoff_s=2)
every_technique = pytest.mark.parametrize("card", CARDS.values(), ids=CARDS)


@dataclass
class Provider:
    """A model at the very inside; it has a name, and follows a script."""

    name: str
    script: Script

    def __post_init__(self) -> None:
        self.channel = ScriptedChannel(self.script)
        self.target = Target(self.name, "p", self.name)

    def open(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Event]]:
        return self.channel.open(request)

    @property
    def model(self) -> Model:
        return Model(cast("HttpChannel", self), PRICE, hedge_after_s=60)


class Run:
    """All wrappers around *providers*, the first of which answers while it can."""

    def __init__(self, *providers: Provider, max_calls: int = 99) -> None:
        self.providers = providers
        self.facts: list[Fact] = []
        self.ledger = Ledger((self.facts.append,))
        self.allowance = RunAllowance(Caps(max_calls), self.ledger)
        self.stack = Stack(POLICY, Random(1), self.ledger, self.allowance)

    @property
    def channel(self) -> Channel:
        return self.stack.to(tuple(provider.model for provider in self.providers))

    def technique(self, card: Card, inner: Channel | None = None) -> TechniqueChannel:
        member = Member("0", "m", inner or self.channel)
        task = Task(QUESTION, usual(card), Random(7), self.allowance)
        return TechniqueChannel(rescued(card.run), task, Channels(member, (member,)))

    @property
    def asked(self) -> int:
        return sum(len(provider.channel.asked) for provider in self.providers)

    def check(self) -> None:
        """Every call that was opened is closed, and is one row."""
        assert [provider.channel.open_calls for provider in self.providers] == [0] * len(
            self.providers
        )
        assert len(self.ledger.rows) == self.asked


def sure(request: Request) -> str:
    return "The answer is 4."


def down(_request: Request) -> Line:
    return Line(UpstreamFailed("down", "overloaded", retryable=True))


def slow(_request: Request) -> Line:
    return Line(replied("late"), after=3600)


async def test_the_first_model_is_retried_and_then_the_next_answers() -> None:
    run = Run(Provider("a", down), Provider("b", sure))
    started = anyio.current_time()

    reply = await ask(run.channel, QUESTION)

    assert reply.text == "The answer is 4."
    assert 1 <= anyio.current_time() - started <= 2
    run.check()
    assert [(row.model, row.outcome) for row in run.ledger.rows] == [
        ("a", "overloaded"),
        ("a", "overloaded"),
        ("b", "ok"),
    ]
    retried = [fact for fact in run.facts if isinstance(fact, CallRetried)]
    assert [fact.moved for fact in retried] == [False, True]
    assert run.ledger.warnings == [Warned("fallback", "b")]
    assert run.ledger.answering is not None
    assert run.ledger.answering.model == "b"


async def test_a_slow_call_is_hedged_and_its_loser_is_a_row_too() -> None:
    lines = iter([Line(replied("late"), after=3600), Line(replied("spare"), after=1)])
    run = Run(Provider("a", lambda _request: next(lines)))

    assert (await ask(run.channel, QUESTION)).text == "spare"
    run.check()
    assert sorted(row.outcome for row in run.ledger.rows) == ["cancelled", "ok"]
    assert all(row.usage.input_tokens for row in run.ledger.rows)


async def test_an_answer_that_breaks_off_is_neither_retried_nor_moved() -> None:
    line = Line(replied("half"), breaks=StreamBroken("cut"))
    run = Run(Provider("a", lambda _request: line), Provider("b", sure))
    with pytest.raises(StreamBroken, match="cut"):
        await ask(run.channel, QUESTION)

    run.check()
    assert [row.outcome for row in run.ledger.rows] == ["truncated"]


async def test_attempts_of_all_kinds_count_against_one_cap() -> None:
    run = Run(Provider("a", down), Provider("b", down), max_calls=3)
    with pytest.raises(UpstreamFailed, match="down"):
        await ask(run.channel, QUESTION)

    run.check()
    assert run.asked == 3


@every_technique
async def test_a_technique_over_all_wrappers_gives_one_answer(card: Card) -> None:
    run = Run(Provider("a", sure))
    async with run.technique(card).open(QUESTION) as events:
        seen = [event async for event in events]

    assert [type(event) for event in seen].count(Finished) == 1
    assert isinstance(seen[-1], Finished)
    assert any(isinstance(event, TextDelta) for event in seen)
    run.check()


@every_technique
async def test_techniques_nest_over_all_wrappers(card: Card) -> None:
    run = Run(Provider("a", sure))
    inner = run.technique(CARDS["baseline"])

    assert (await ask(run.technique(card, inner), QUESTION)).text
    run.check()


@every_technique
async def test_a_technique_goes_on_where_a_model_is_down(card: Card) -> None:
    run = Run(Provider("a", down), Provider("b", sure))

    assert (await ask(run.technique(card), QUESTION)).text
    run.check()


@every_technique
async def test_when_all_models_are_down_the_failure_comes_out_as_itself(card: Card) -> None:
    run = Run(Provider("a", down), Provider("b", down))
    with pytest.raises(UpstreamFailed, match="down"):
        await ask(run.technique(card), QUESTION)

    run.check()


@every_technique
@pytest.mark.parametrize("most", [1, 2, 3])
async def test_a_run_never_makes_more_calls_than_its_cap(card: Card, most: int) -> None:
    run = Run(Provider("a", sure), max_calls=most)

    assert (await ask(run.technique(card), QUESTION)).text
    run.check()
    assert run.asked <= most


@every_technique
async def test_a_caller_that_gives_up_leaves_nothing_open(card: Card) -> None:
    run = Run(Provider("a", slow), Provider("b", slow))
    started = anyio.current_time()
    with anyio.move_on_after(100) as scope:
        await ask(run.technique(card), QUESTION)

    assert scope.cancelled_caught
    assert anyio.current_time() - started == pytest.approx(100)
    run.check()
    assert {row.outcome for row in run.ledger.rows} == {"cancelled"}


@every_technique
async def test_a_caller_that_leaves_early_leaves_nothing_open(card: Card) -> None:
    run = Run(Provider("a", lambda _request: "The answer is 4. " * 80))
    async with run.technique(card).open(QUESTION) as events:
        await anext(aiter(events))

    run.check()


async def test_an_idle_timeout_around_each_event_of_all_that_disturbs_nothing() -> None:
    run = Run(Provider("a", lambda _request: Line(replied("word " * 90), after=1)))
    pieces = 0
    async with run.technique(CARDS["baseline"]).open(QUESTION) as events:
        iterator = cast("AsyncGenerator[Event, None]", aiter(events))
        while True:
            with anyio.fail_after(5):
                event = await anext(iterator, None)
            if event is None:
                break
            pieces += isinstance(event, TextDelta)

    assert pieces > 1
    run.check()


async def test_a_failure_reaches_a_caller_that_is_busy_elsewhere() -> None:
    failure = UpstreamFailed("down", "rejected")
    run = Run(Provider("a", lambda _request: Line(failure, after=1)))

    async def busy() -> None:
        async with run.technique(CARDS["baseline"]).open(QUESTION):
            await anyio.sleep(60)

    started = anyio.current_time()
    with pytest.raises(UpstreamFailed, match="down"):
        await busy()

    assert anyio.current_time() - started == pytest.approx(1)
    run.check()


async def test_runs_that_go_on_at_once_do_not_mix() -> None:
    answers: dict[str, Reply] = {}

    async def one(name: str) -> None:
        run = Run(Provider("a", lambda _request: Line(replied(f"I am {name}."), after=1)))
        answers[name] = await ask(run.technique(CARDS["self_consistency"]), QUESTION)
        run.check()

    async with anyio.create_task_group() as group:
        for name in ("one", "two", "three"):
            group.start_soon(one, name)

    assert {name: reply.text for name, reply in answers.items()} == {
        name: f"I am {name}." for name in ("one", "two", "three")
    }
