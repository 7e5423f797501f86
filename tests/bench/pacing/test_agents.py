from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest

from bench.pacing import rig, words
from bench.pacing.account import VENDORS, Account, Terms, Vendor
from bench.pacing.agents import Agent, Sight, Target, World, fleet, retry_after, streamed
from bench.pacing.telling import Moment, headers

TARGETS = [Target("http://127.0.0.1:1", "model-1")] * 16


def test_a_fleet_of_the_same_seed_asks_the_same() -> None:
    first, second = fleet(TARGETS, 4), fleet(TARGETS, 4)

    assert [one.length() for one in first] == [one.length() for one in second]
    assert [one.context for one in first] == [one.context for one in second]
    assert {one.context for one in first} != {one.context for one in fleet(TARGETS, 5)}


def test_answers_are_mostly_short_and_never_longer_than_asked_for() -> None:
    agent = Agent(TARGETS[0], seed=1, context=700, streams=False)
    lengths = sorted(agent.length() for _ in range(2000))

    assert lengths[-1] == 650
    assert lengths[0] >= 10
    assert 90 < lengths[1000] < 110


def test_an_agent_sends_all_that_was_said_so_far() -> None:
    agent = Agent(TARGETS[0], seed=1, context=700, streams=False)
    agent.body(10)
    agent.turns.append({"role": "assistant", "content": "so"})

    roles = [turn["role"] for turn in agent.body(10)["messages"]]

    assert roles == ["system", "user", "assistant", "user"]


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "soon"}, 0.0),
        ({}, 0.0),
    ],
)
def test_the_finer_of_two_waits_is_the_one_that_counts(
    told: dict[str, str], seconds: float
) -> None:
    assert retry_after(told) == seconds


def test_a_stream_that_broke_gives_what_came_before() -> None:
    raw = b'data: {"choices":[{"delta":{"content":"so"}}]}\n\ndata: {"error":{"message":"x"}}\n\n'

    assert streamed(raw) == "so"


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_wary_agent_waits_until_what_it_was_told_of_allows_its_next_call(vendor: Vendor) -> None:
    account = Account(Terms(vendor))
    account.windows[account.main].take(29_000, 0.0)
    sight = Sight.of(headers(account, Moment(0.0, datetime.now(UTC))), 100.0)
    assert sight is not None

    assert sight.wait_s(1500, 100.0) == pytest.approx(1)
    assert sight.wait_s(1500, 101.0) == 0
    assert sight.wait_s(900, 100.0) == 0
    assert Sight.of({}, 100.0) is None


def test_an_agent_needs_all_that_was_said_and_room_for_its_longest_answer() -> None:
    agent = Agent(TARGETS[0], seed=1, context=700, streams=False)
    agent.body(50)
    agent.answered(words.text(50, 1))
    agent.body(10)

    assert agent.need == 700 + 40 + 50 + 40 + 50


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_agents_reach_their_ends_however_often_they_are_refused(
    anyio_backend: str, tmp_path: Path
) -> None:
    speed = 400.0
    with ExitStack() as stack:
        provider = rig.start_provider((tmp_path, stack), speed)
        rig.make_accounts(provider, {"a": Terms("openai", tpm=5000)})
        target = Target(f"http://127.0.0.1:{provider.port}/a", "model-1")
        agents = fleet([target] * 4, seed=1, steps=2)
        async with aiohttp.ClientSession() as session:
            lasted = await World(session, speed).live(agents, 1)
        counted = rig.counts(provider)["a"]

    assert [agent.lived.broken for agent in agents] == [[]] * 4
    assert all(agent.lived.done_s for agent in agents)
    assert (counted["granted"], counted["unasked"]) == (8, 0)
    assert counted["refused"] == sum(agent.lived.refused for agent in agents) > 0
    assert counted["charged"] <= 5000 * (1 + lasted / 60)
