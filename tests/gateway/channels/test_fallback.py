from __future__ import annotations

import pytest

from gateway.channels.capped import CappedChannel
from gateway.channels.fallback import FallbackChannel
from gateway.metering.caps import Caps, RunAllowance
from gateway.metering.ledger import Ledger
from techniques.core.channel import Member, ask
from techniques.core.errors import (
    CapReached,
    FailureKind,
    RequestRejected,
    StreamBroken,
    UpstreamFailed,
)
from techniques.core.reply import replied
from techniques.core.request import Request
from techniques.testing import Line, ScriptedChannel

QUESTION = Request("asked-for")


class Moves:
    """Remembers each step onward."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, str]] = []

    def __call__(self, failure: UpstreamFailed, onward: Member) -> None:
        self.steps.append((failure.message, onward.model))


def down(message: str = "down", kind: FailureKind = "overloaded") -> Line:
    return Line(UpstreamFailed(message, kind))


def over(moves: Moves, *channels: ScriptedChannel) -> FallbackChannel:
    members = [Member(str(i), f"model-{i}", channel) for i, channel in enumerate(channels)]
    return FallbackChannel(members, moves)


async def test_the_first_member_answers_while_it_can() -> None:
    first, second, moves = ScriptedChannel(["first"]), ScriptedChannel([]), Moves()

    assert (await ask(over(moves, first, second), QUESTION)).text == "first"
    assert (second.asked, moves.steps) == ([], [])


async def test_each_member_is_asked_in_turn_for_its_own_model() -> None:
    first, second = ScriptedChannel([down("one")]), ScriptedChannel([down("two")])
    third, moves = ScriptedChannel(["third"]), Moves()

    assert (await ask(over(moves, first, second, third), QUESTION)).text == "third"
    assert moves.steps == [("one", "model-1"), ("two", "model-2")]
    asked = [channel.asked[0].model for channel in (first, second, third)]
    assert asked == ["model-0", "model-1", "model-2"]
    assert first.open_calls == second.open_calls == third.open_calls == 0


async def test_when_all_are_down_the_last_failure_is_raised() -> None:
    first, second = ScriptedChannel([down("one")]), ScriptedChannel([down("two")])
    with pytest.raises(UpstreamFailed, match="two"):
        await ask(over(Moves(), first, second), QUESTION)


@pytest.mark.parametrize(
    "kind",
    [
        *("transport", "timeout", "rate_limited", "overloaded", "server", "authentication"),
        *("quota", "unknown_model"),
    ],
)
async def test_a_failure_that_is_not_the_callers_own_leads_to_the_next(kind: FailureKind) -> None:
    first, second = ScriptedChannel([down(kind=kind)]), ScriptedChannel(["second"])

    assert (await ask(over(Moves(), first, second), QUESTION)).text == "second"


@pytest.mark.parametrize(
    "failure", [UpstreamFailed("wrong", "rejected"), RequestRejected("wrong")], ids=type
)
async def test_a_request_that_is_wrong_is_wrong_for_the_next_model_too(
    failure: UpstreamFailed | RequestRejected,
) -> None:
    first, second, moves = ScriptedChannel([Line(failure)]), ScriptedChannel([]), Moves()
    with pytest.raises(type(failure), match="wrong"):
        await ask(over(moves, first, second), QUESTION)

    assert (second.asked, moves.steps) == ([], [])


async def test_a_name_that_the_caller_wrote_and_the_provider_does_not_know_is_told() -> None:
    first, second = ScriptedChannel([down("none", "unknown_model")]), ScriptedChannel([])
    members = [Member(str(i), f"model-{i}", channel) for i, channel in enumerate((first, second))]
    with pytest.raises(UpstreamFailed, match="none"):
        await ask(FallbackChannel(members, Moves(), named=True), QUESTION)

    assert second.asked == []


async def test_an_answer_that_has_begun_stays_with_its_model() -> None:
    line = Line(replied("half"), breaks=StreamBroken("cut"))
    first, second = ScriptedChannel([line]), ScriptedChannel([])
    with pytest.raises(StreamBroken, match="cut"):
        await ask(over(Moves(), first, second), QUESTION)

    assert second.asked == []


async def test_when_the_caps_leave_no_further_call_the_providers_failure_is_raised() -> None:
    channel = ScriptedChannel(lambda _request: down())
    capped = CappedChannel(channel, RunAllowance(Caps(max_calls=1), Ledger()))
    members = [Member("0", "a", capped), Member("1", "b", capped)]
    with pytest.raises(UpstreamFailed, match="down"):
        await ask(FallbackChannel(members, Moves()), QUESTION)

    assert len(channel.asked) == 1


async def test_when_the_caps_leave_no_call_at_all_they_are_the_failure() -> None:
    allowance = RunAllowance(Caps(max_calls=1), Ledger())
    allowance.take()
    capped = CappedChannel(ScriptedChannel([]), allowance)
    members = [Member("0", "a", capped), Member("1", "b", capped)]
    with pytest.raises(CapReached):
        await ask(FallbackChannel(members, Moves()), QUESTION)


async def test_a_step_onward_that_a_cap_forbids_is_not_told() -> None:
    first, moves = ScriptedChannel([down()]), Moves()
    allowance = RunAllowance(Caps(max_calls=1), Ledger())
    members = [
        Member(str(i), f"model-{i}", CappedChannel(channel, allowance))
        for i, channel in enumerate((first, ScriptedChannel([])))
    ]

    with pytest.raises(UpstreamFailed, match="down"):
        await ask(FallbackChannel(members, moves), QUESTION)

    assert moves.steps == []
