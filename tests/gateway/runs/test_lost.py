"""A journal that is lost in the middle of a run: the answer comes, and is written when it can."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from gateway.runs.terms import Ambiguous
from techniques.core.errors import Unavailable
from techniques.core.events import Warned
from tests.gateway.runs.scene import POLICY, World, after

DRAWS = {"num_samples": 3, "stop": "exact"}
WORDS = 5
"""Words that a run whose first two draws agree writes: two each, and its end."""


def warned(world: World) -> list[str]:
    return [fact.code for fact in world.facts if isinstance(fact, Warned)]


@pytest.mark.parametrize("at", range(WORDS - 1))
async def test_a_word_that_is_not_taken_is_written_with_a_later_one(at: int) -> None:
    world = World(lambda request: after(10.0 * (int(request.step[1:]) + 1)))
    async with world.replica() as replica:
        replica.journal.lost = lambda number: number == at
        reply = await replica.ask(params=DRAWS)
        asked = len(world.asked)
        assert warned(world) == ["journal_lost"]
        steps = (await world.stored()).steps
        assert {step.state for step in steps} == {"completed"}
        assert (await replica.ask(params=DRAWS)).text == reply.text
        assert len(world.asked) == asked


@pytest.mark.parametrize("at", range(WORDS))
async def test_a_journal_that_stays_away_costs_no_answer(at: int) -> None:
    world = World(lambda _request: after(1.0))
    async with world.replica() as replica:
        replica.journal.lost = lambda number: number >= at
        reply = await replica.ask(params=DRAWS)
    assert reply.text == "42"
    assert len(world.asked) <= 3


async def test_a_journal_that_was_lost_is_left_alone_for_a_while() -> None:
    world = World(lambda request: after(0.1 * int(request.step[1:])))
    async with world.replica() as replica:
        replica.journal.lost = lambda _number: True
        await replica.ask(params={"num_samples": 20, "stop": "exact"})
        assert len(world.asked) > 10
        assert replica.journal.written <= 6  # those at once, and the end


@pytest.mark.parametrize("ambiguous", ["ask", "fail"])
async def test_where_nothing_may_be_made_again_unasked_the_run_stops(
    ambiguous: Ambiguous,
) -> None:
    world = World(policy=replace(POLICY, ambiguous=ambiguous))
    async with world.replica() as replica:
        replica.journal.lost = lambda number: number == 1
        with pytest.raises(Unavailable) as told:
            await replica.ask("baseline")
        assert told.value.code == "journal_lost"
        await anyio.sleep(POLICY.lease_s)
