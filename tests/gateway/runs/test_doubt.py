"""A call that may have been paid for is made again when somebody says so, who is asked once."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import anyio
import pytest

from gateway.attention.board import Asker
from gateway.attention.questions import Approval, Decision
from gateway.doubting import AskedOfPeople
from gateway.metering.ledger import StepAmbiguous
from gateway.policy.keys import OpenDoor
from gateway.runs.doubt import waits_for_word
from gateway.runs.questions import Word
from gateway.runs.wanted import RunPolicy
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.journal.records import RunName, RunRecord, StepRecord
from techniques.core.errors import KeyLimited, RunConflict
from tests.gateway.attention.scene import EPOCH, YES, Scene
from tests.gateway.runs.scene import Replica, World, after

LEASE_S = 15
NO = replace(YES, state="rejected")


@dataclass
class Doubt:
    """A world in which a replica died in the midst of calls, and people who can be asked."""

    people: Scene
    world: World
    replica: Replica

    async def refused(self, technique: str = "baseline", **said: Any) -> RunConflict:
        """Ask for the run, which does not go on."""
        with pytest.raises(RunConflict) as told:
            await self.replica.ask(technique, **said)
        return told.value

    async def asked(self) -> list[Approval]:
        """Return all that people were asked, the first one first."""
        await self.people.asking.beat()
        found = await self.people.board.listed(Asker("key:"), None, 1000)
        return list(reversed(found))

    async def decided(self, made: Approval, decision: Decision = YES) -> None:
        await self.people.board.decide(self.people.ana, made.id, decision)


@asynccontextmanager
async def doubt(technique: str = "baseline", at: int = 0, **said: Any) -> AsyncGenerator[Doubt]:
    """Have a replica die when it has written the word numbered *at*."""
    people = Scene()
    questions = AskedOfPeople(people.board, OpenDoor(), "ana")
    policy = RunPolicy(lease_s=LEASE_S, ambiguous="ask", questions=questions)
    world = World(lambda _request: after(1), policy=policy)
    async with world.replica() as first, world.replica() as second:
        assert await first.dies(at, technique, after=True, **said)
        await anyio.sleep(LEASE_S)
        yield Doubt(people, world, second)


async def test_a_person_is_asked_and_the_client_is_told_of_it() -> None:
    async with doubt() as case:
        told = await case.refused()
        (asked,) = await case.asked()
        assert told.code == "step_ambiguous"
        assert asked.id in told.message
        assert "ana" in told.message
        assert "/resume" in told.message
        assert (asked.kind, asked.person, asked.state) == ("ambiguous_retry", "ana", "pending")
        assert "step: baseline:0:a0:answer:0\nmodel: m\nprovider: p\ntimes sent: 1" in asked.detail
        stored = await case.world.stored()
        assert stored.standing.state == "interrupted"
        assert [step.asked for step in stored.steps] == [asked.id]
        assert case.world.asked == []


async def test_calls_that_come_together_are_each_asked_about_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = {"params": {"num_samples": 3, "stop": "exact"}}
    async with doubt("self_consistency", 1, **said) as case:
        ask = case.people.board.ask

        async def slow(*given: Any) -> Approval:
            await anyio.sleep(1)
            return await ask(*given)

        monkeypatch.setattr(case.people.board, "ask", slow)
        await case.refused("self_consistency", **said)
        assert len(await case.asked()) == 2


async def test_one_that_is_rejected_ends_the_run_whatever_is_said_of_the_others() -> None:
    said = {"params": {"num_samples": 3, "stop": "exact"}}
    async with doubt("self_consistency", 1, **said) as case:
        await case.refused("self_consistency", **said)
        await case.decided((await case.asked())[1], NO)
        questions = case.world.policy.questions
        assert not await waits_for_word(await case.world.stored(), questions)
        assert (await case.refused("self_consistency", **said)).code == "step_rejected"
        assert (await case.world.stored()).standing.state == "failed"


async def test_what_was_asked_is_not_asked_again_nor_counted_again() -> None:
    async with doubt() as case:
        for _ in range(3):
            await case.refused()
        assert len(await case.asked()) == 1
        assert (await case.world.stored()).standing.ambiguous == 0, "it was not made again yet"
        await case.decided((await case.asked())[0])
        await case.replica.ask("baseline")
        assert (await case.world.stored()).standing.ambiguous == 1
        assert sum(isinstance(fact, StepAmbiguous) for fact in case.world.facts) == 1


async def test_the_run_goes_on_by_the_next_request_when_a_person_has_approved() -> None:
    async with doubt() as case:
        await case.refused()
        (asked,) = await case.asked()
        await case.decided(asked)
        assert (await case.replica.ask("baseline")).text
        assert len(case.world.asked) == 1
        stored = await case.world.stored()
        assert stored.standing.state == "completed"
        assert len(await case.asked()) == 1


async def test_the_run_fails_when_a_person_has_rejected_until_its_resume_says_otherwise() -> None:
    async with doubt() as case:
        await case.refused()
        (asked,) = await case.asked()
        await case.decided(asked, NO)
        for _ in range(2):
            told = await case.refused()
            assert told.code == "step_rejected"
            assert asked.id in told.message
            assert (await case.world.stored()).standing.state == "failed"
        assert case.world.asked == []
        await case.replica.ask("baseline", ambiguous="retry")
        assert len(case.world.asked) == 1


async def test_a_question_that_nobody_decided_is_asked_anew() -> None:
    async with doubt() as case:
        first = await case.refused()
        await anyio.sleep(86_400)
        told = await case.refused()
        expired, asked = await case.asked()
        assert (expired.state, asked.state) == ("expired", "pending")
        assert expired.id in first.message
        assert asked.id in told.message
        await case.decided(asked)
        await case.replica.ask("baseline")


async def test_all_doubtful_calls_of_a_run_are_asked_about_together() -> None:
    said = {"params": {"num_samples": 3, "stop": "exact"}}
    async with doubt("self_consistency", 1, **said) as case:
        await case.refused("self_consistency", **said)
        asked = await case.asked()
        assert len({one.detail for one in asked}) == len(asked) == 2
        assert len({one.ask for one in asked}) == 1, "in one digest"
        for one in asked:
            assert (await case.refused("self_consistency", **said)).code == "step_ambiguous"
            await case.decided(one)
        await case.replica.ask("self_consistency", **said)
        assert len(await case.asked()) == 2
        assert (await case.world.stored()).standing.ambiguous == 2


async def test_a_call_that_was_made_again_and_is_in_doubt_again_is_another_question() -> None:
    async with doubt() as case:
        await case.refused()
        (first,) = await case.asked()
        await case.decided(first)
        async with case.world.replica() as dying:
            assert await dying.dies(0, "baseline", after=True)
        await anyio.sleep(LEASE_S)
        assert (await case.refused()).code == "step_ambiguous"
        _, second = await case.asked()
        assert "times sent: 2" in second.detail
        assert second.state == "pending"


@pytest.mark.parametrize("error", [DatabaseLost("gone"), KeyLimited("too many")])
async def test_where_nobody_can_be_asked_it_is_for_the_client_to_say(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask(*_: object) -> Approval:
        raise error

    async with doubt() as case:
        monkeypatch.setattr(case.people.board, "ask", ask)
        told = await case.refused()
        assert told.code == "step_ambiguous"
        assert "ap_" not in told.message
        assert "/resume" in told.message
        monkeypatch.undo()
        assert "ap_" in (await case.refused()).message


async def test_a_decision_that_cannot_be_read_now_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def one(*_: object) -> Approval:
        raise DatabaseLost("gone")

    async with doubt() as case:
        await case.refused()
        (asked,) = await case.asked()
        monkeypatch.setattr(case.people.board, "one", one)
        assert asked.id in (await case.refused()).message
        monkeypatch.undo()
        assert len(await case.asked()) == 1


async def test_a_word_about_another_step_is_none_about_this_one() -> None:
    people = Scene()
    questions = AskedOfPeople(people.board, OpenDoor(), "ana")
    run = RunRecord(RunName("", "run"), "body", "plan", "secret", 0)
    step, other = (StepRecord(path, "key", attempts=1) for path in ("a", "b"))
    word = await questions.ask(run, step)
    assert word is not None
    await people.board.decide(people.ana, word.asked, replace(YES, at=EPOCH))
    step.asked = other.asked = word.asked
    assert await questions.look(run, step) == Word(word.asked, "ana", "approved")
    assert await questions.look(run, other) is None
    assert await questions.look(run, replace(step, attempts=2)) is None
    assert await questions.look(run, replace(step, asked="ap_unknown")) is None


@dataclass
class Said:
    """Tells how each question stands."""

    state: Literal["pending", "approved", "rejected"] | None
    looked: list[str] = field(default_factory=list)

    async def ask(self, run: RunRecord, step: StepRecord) -> Word | None:
        raise AssertionError("who sweeps asks nobody")

    async def look(self, run: RunRecord, step: StepRecord) -> Word | None:
        self.looked.append(step.path)
        return None if self.state is None else Word(step.asked or "", "ana", self.state)


@pytest.mark.parametrize(
    ("state", "waits"),
    [("pending", True), ("approved", False), ("rejected", False), (None, False)],
)
async def test_a_run_of_the_background_waits_for_a_word_and_for_nothing_else(
    state: Literal["pending", "approved", "rejected"] | None, *, waits: bool
) -> None:
    async with doubt() as case:
        await case.refused()
        stored = await case.world.stored()
        assert await waits_for_word(stored, Said(state)) is waits
        assert await waits_for_word(stored, None), "then only its resume says it"
        other = replace(stored, standing=replace(stored.standing, reason="rate_limit"))
        assert not await waits_for_word(other, Said("pending"))
