"""What must hold of every technique as the one that a question is handed on to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from techniques.catalog.acm import ByTable, acm
from techniques.core.events import Finished, Started
from techniques.core.registry import DELEGATED, Card
from techniques.core.request import Request
from techniques.testing import ScriptedChannel
from tests.techniques.delegation import CARDS, PROSE, over, row
from tests.techniques.scene import (
    Answer,
    Cap,
    Played,
    Setting,
    channels,
    play,
    scripted,
    sensible,
    tokens,
    usual,
)

ASK_OTHERWISE = {"diversity_time", "effort_up", "re2"}
"""Their first call differs from the client's in temperature, effort or words."""
OWN = {
    name: card
    for name, card in CARDS.items()
    if name == card.name and card.traits.modality != DELEGATED
}
every_technique = pytest.mark.parametrize("card", OWN.values(), ids=OWN)


def answer(request: Request) -> Answer:
    """The same answer to whoever wants one, with its probabilities if they are wanted too."""
    if request.role not in {"answer", "candidate"}:
        return sensible(request)
    reply = tokens("Worked out with care, ", 0.6, "the result is 42.", 0.6)
    return reply if request.sampling.logprobs else replace(reply, logprobs=None)


async def handed_on(card: Card, cap: int | None = None) -> Played:
    """Play ``acm`` where it hands everything on to *card*."""
    channel = scripted(answer)
    options = ByTable(table=(row(0, 1, card.name),))
    setting = Setting(options, cap=None if cap is None else Cap(channel, cap))
    return await play(over(acm, CARDS), channels(channel, pool=2), PROSE, setting)


async def alone(card: Card) -> list[Request]:
    channel: ScriptedChannel = scripted(answer)
    return (await play(card.run, channels(channel, pool=2), PROSE, Setting(usual(card)))).asked


@every_technique
async def test_it_gives_the_answer(card: Card) -> None:
    played = await handed_on(card)

    assert "42" in played.text
    assert isinstance(played.events[-1], Finished)
    assert sum(isinstance(event, Started) for event in played.events) == 1
    assert played.note("delegation")["technique"] == card.name


@every_technique
async def test_the_first_answer_is_its_own_first_or_costs_one_call(card: Card) -> None:
    calls = len((await handed_on(card)).asked) - len(await alone(card))

    assert calls == (1 if card.name in ASK_OTHERWISE else 0)


@every_technique
async def test_every_call_has_a_step_of_its_own(card: Card) -> None:
    steps = [request.step for request in (await handed_on(card)).asked]

    assert len(set(steps)) == len(steps)


@every_technique
async def test_a_cap_after_any_call_gives_an_answer(card: Card) -> None:
    for most in range(1, 12):
        played = await handed_on(card, most)
        assert "42" in played.text
        if card.name not in ASK_OTHERWISE:  # of these, the channels below hold back one
            assert len(played.asked) <= most
