"""Where several answers are wanted: what must hold of every technique, ranked or repeated."""

from __future__ import annotations

from random import Random

import pytest

from gateway.channels.choices import counted, repeated
from techniques import catalog
from techniques.core.channel import Technique, TechniqueChannel
from techniques.core.errors import UpstreamFailed
from techniques.core.events import Event, Finished, Warned
from techniques.core.registry import Card, load
from techniques.core.reply import Reply, fold
from techniques.core.request import Request
from techniques.core.task import Task
from techniques.testing import ScriptedChannel
from tests.techniques.scene import Answer, asks, channels, each, scripted, sensible, usual

CARDS = load(catalog)
QUESTION = asks("Tell me of the sea.")
every_technique = pytest.mark.parametrize("card", CARDS.values(), ids=CARDS)


async def seen(
    technique: Technique, card: Card, channel: ScriptedChannel, choices: int = 1
) -> list[Event]:
    task = Task(QUESTION, usual(card), Random(7), choices=choices)
    async with TechniqueChannel(technique, task, channels(channel, pool=2)).open(QUESTION) as run:
        events = [event async for event in run]
    assert channel.open_calls == 0
    return events


async def ranked(card: Card, choices: int) -> Reply:
    return await fold(each(await seen(card.run, card, scripted(several), choices)))


def several(request: Request) -> Answer:
    """Answer each draw otherwise."""
    plain = request.role in {"answer", "candidate"}
    return f"By {request.step} it is {len(request.step)}{request.step[1:]}." if plain else "{}"


@every_technique
async def test_further_answers_differ_and_only_who_ranks_gives_any(card: Card) -> None:
    alone, few = await ranked(card, 1), await ranked(card, 3)

    texts = [one.text for one in (few, *few.others)]
    assert alone.others == ()
    assert few.parts == alone.parts
    assert len(set(texts)) == len(texts) <= 3
    assert (len(texts) > 1) == card.traits.modality.ranks


@every_technique
async def test_every_run_is_a_choice_and_no_two_calls_have_one_step(card: Card) -> None:
    channel = scripted(sensible)
    reply = await fold(each(await seen(repeated(card.run, 3), card, channel)))

    steps = [request.step for request in channel.asked]
    assert all("42" in one.text for one in (reply, *reply.others))
    assert len(reply.others) == 2
    assert len(set(steps)) == len(steps)


@every_technique
async def test_further_runs_that_all_fail_are_told_and_cost_the_answer_nothing(card: Card) -> None:
    down = UpstreamFailed("down", "overloaded")
    channel = scripted(lambda request: down if "." in request.step else sensible(request))

    events = await seen(counted(repeated(card.run, 3), 3), card, channel)

    assert "42" in (await fold(each(events))).text
    assert events[-2] == Warned("fewer_choices", "1 of 3")
    assert isinstance(events[-1], Finished)
