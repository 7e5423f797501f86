"""What must hold of every technique also where no two answers are alike."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from techniques import catalog
from techniques.core.channel import TechniqueChannel
from techniques.core.errors import GatewayError, UpstreamFailed
from techniques.core.events import Finished, Started, TextDelta
from techniques.core.registry import Card, load
from techniques.core.reply import Reply
from techniques.core.request import Request, Text
from techniques.core.task import Task
from techniques.testing import Line, ScriptedChannel
from tests.techniques.scene import (
    Answer,
    Cap,
    Played,
    Setting,
    asks,
    channels,
    line,
    play,
    prefers,
    scripted,
    sensible,
    shown,
    usual,
)

CARDS = load(catalog)
QUESTION = asks("Tell me of the sea.")
MOST_CALLS = 25
SAID = "Some 42 people were there. None of them saw it as {} did. It was never seen again."
every_technique = pytest.mark.parametrize("card", CARDS.values(), ids=CARDS)


def unlike(request: Request) -> Answer:
    """An answer of its own to each call, and a judge that prefers what was written last."""
    if request.role == "judge" and "answer 2>>" in shown(request):
        return prefers("1" if f"answer 1>>\n{SAID.format('s0')}" in shown(request) else "2")
    if request.role in {"answer", "candidate", "synthesis"}:
        return SAID.format(request.step)
    return sensible(request)


async def run(
    card: Card, channel: ScriptedChannel, request: Request = QUESTION, cap: Cap | None = None
) -> Played:
    setting = Setting(usual(card), cap=cap)
    return await play(card.run, channels(channel, pool=2), request, setting)


def but(failing: str, answer: Answer) -> ScriptedChannel:
    return scripted(lambda request: answer if request.step == failing else unlike(request))


@every_technique
@pytest.mark.parametrize("stream", [False, True])
async def test_stream_is_well_formed(card: Card, *, stream: bool) -> None:
    played = await run(card, scripted(unlike), replace(QUESTION, stream=stream))
    kinds = [type(event) for event in played.events]
    assert (kinds.count(Started), kinds.count(Finished), kinds[-1]) == (1, 1, Finished)
    assert "42" in played.text


@every_technique
async def test_streamed_and_whole_are_the_same(card: Card) -> None:
    whole = await run(card, scripted(unlike))
    streamed = await run(card, scripted(unlike), replace(QUESTION, stream=True))
    assert streamed.reply == whole.reply


@every_technique
async def test_same_seed_same_run(card: Card) -> None:
    first, second = [await run(card, scripted(unlike)) for _ in range(2)]
    assert first.events == second.events
    assert sorted(map(repr, first.asked)) == sorted(map(repr, second.asked))


@every_technique
async def test_every_sub_call_has_a_step_of_its_own(card: Card) -> None:
    steps = [request.step for request in (await run(card, scripted(unlike))).asked]
    assert len(set(steps)) == len(steps)


@every_technique
async def test_any_one_sub_call_may_fail(card: Card) -> None:
    for asked in (await run(card, scripted(unlike))).asked:
        played = await run(card, but(asked.step, UpstreamFailed("It broke.")))
        assert "42" in played.text
        assert "broke" not in played.text


@every_technique
async def test_what_breaks_off_is_replaced_or_an_error(card: Card) -> None:
    broken = Line(Reply((Text("half an"),)), breaks=UpstreamFailed("It broke."))
    for asked in (await run(card, scripted(unlike))).asked:
        try:
            played = await run(card, but(asked.step, broken))
        except GatewayError:
            assert asked.role in {"answer", "synthesis"}
        else:
            assert "half an" not in played.text


@every_technique
async def test_a_cap_after_any_call_gives_an_answer_and_is_kept(card: Card) -> None:
    for most in range(1, MOST_CALLS):
        channel = scripted(unlike)
        played = await run(card, channel, cap=Cap(channel, most))
        assert "42" in played.text
        assert len(channel.asked) <= most


@every_technique
@pytest.mark.parametrize("seconds", [5, 9, 10, 14])
async def test_the_deadline_is_kept_with_the_best_so_far(card: Card, seconds: int) -> None:
    channel = scripted(lambda request: replace(line(unlike(request)), after=4))
    deadline = anyio.current_time() + seconds
    setting = Setting(usual(card), deadline=deadline)
    played = await play(card.run, channels(channel, pool=2), QUESTION, setting)
    assert "42" in played.text
    assert anyio.current_time() <= deadline


@every_technique
@pytest.mark.parametrize("seconds", [0, 2, 6, 10])
async def test_nothing_stays_open_when_cancelled_or_left(card: Card, seconds: int) -> None:
    channel = scripted(lambda request: replace(line(unlike(request)), after=4))
    with anyio.move_on_after(seconds):
        await run(card, channel)
    assert channel.open_calls == 0

    technique = TechniqueChannel(card.run, Task(QUESTION, usual(card)), channels(channel, pool=2))
    async with technique.open(QUESTION) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                break
    assert channel.open_calls == 0
