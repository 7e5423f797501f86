from __future__ import annotations

from dataclasses import replace

import pytest

from techniques.catalog.baseline import Options, baseline
from techniques.core.errors import CapReached, DeadlinePassed, StreamBroken, UpstreamFailed
from techniques.core.events import Started, TextDelta, Warned
from techniques.core.reply import replied
from techniques.core.request import Relay
from techniques.testing import Line, ScriptedChannel
from tests.techniques.scene import Cap, Played, Setting, asks, channels, play, scripted

DOWN = UpstreamFailed("down", "overloaded", retryable=True)


async def run(channel: ScriptedChannel, *, pool: int = 2, failover: bool = True) -> Played:
    return await play(
        baseline, channels(channel, pool=pool), asks(), Setting(Options(failover=failover))
    )


async def test_one_call_is_passed_on_as_it_comes() -> None:
    text = "word " * 100
    played = await run(scripted(lambda _request: text))
    assert played.text == text
    assert isinstance(played.events[0], Started)
    assert sum(isinstance(event, TextDelta) for event in played.events) > 1
    assert len(played.asked) == 1


async def test_the_request_goes_out_as_it_was_made() -> None:
    relay = Relay("openai_chat", b"{}", {}, decode=asks)
    request = replace(asks(), stream=True, relay=relay)
    channel = scripted(lambda _request: "x")
    await play(baseline, channels(channel), request, Setting(Options()))
    assert channel.asked == [replace(request, step="a0", model="model-0")]


async def test_the_next_model_is_asked_when_one_does_not_begin() -> None:
    channel = scripted(lambda request: DOWN if request.model == "model-0" else "x")
    played = await run(channel)
    assert played.text == "x"
    assert played.events[0] == Warned("failover", "m1")


async def test_when_none_begins_the_first_failure_is_told() -> None:
    also = UpstreamFailed("also down")
    channel = scripted(lambda request: DOWN if request.model == "model-0" else also)
    with pytest.raises(UpstreamFailed, match=r"^down$"):
        await run(channel)


async def test_failover_can_be_turned_off() -> None:
    channel = scripted(lambda _request: DOWN)
    with pytest.raises(UpstreamFailed):
        await run(channel, failover=False)
    assert len(channel.asked) == 1


async def test_an_answer_that_began_is_not_begun_again() -> None:
    channel = scripted(lambda _request: Line(replied("half"), breaks=StreamBroken("gone")))
    with pytest.raises(StreamBroken):
        await run(channel)
    assert len(channel.asked) == 1


async def test_other_failures_are_no_reason_to_ask_the_next_model() -> None:
    channel = scripted(lambda _request: DeadlinePassed("late"))
    with pytest.raises(DeadlinePassed):
        await run(channel)
    assert len(channel.asked) == 1


@pytest.mark.parametrize(("most", "error"), [(0, CapReached), (1, UpstreamFailed)])
async def test_a_cap_ends_the_tries(most: int, error: type[Exception]) -> None:
    channel = scripted(lambda _request: DOWN)
    setting = Setting(Options(), cap=Cap(channel, most))
    with pytest.raises(error):
        await play(baseline, channels(channel, pool=2), asks(), setting)
    assert len(channel.asked) == most
