from __future__ import annotations

from typing import Any

import pytest

from gateway.channels.overheard import Heard, overheard
from techniques import catalog
from techniques.core.errors import UpstreamFailed
from techniques.core.registry import Card, load
from tests.techniques.scene import (
    Played,
    Setting,
    asks,
    channels,
    draws,
    play,
    usual,
    with_judge,
)

CARDS = load(catalog)
SUM = asks("What is 6 * 7?")
ANSWERS = [f"By way {place} it is {result}." for place, result in enumerate([41, 42, 42, 42, 42])]
DRAWING = ("self_consistency", "best_of_n", "weighted_bon", "fountain")


async def listen(card: Card, heard: Heard, **changes: Any) -> Played:
    channel = draws(ANSWERS * 2)
    models = changes.get("models", with_judge)(channel)
    return await play(overheard(card.run, heard), models, SUM, Setting(usual(card)))


@pytest.mark.parametrize("name", DRAWING)
async def test_the_answer_and_what_the_model_said_first_are_written_down(name: str) -> None:
    heard = Heard()
    played = await listen(CARDS[name], heard)

    assert heard.answer == played.reply
    assert heard.first is not None
    assert heard.first.text == ANSWERS[0]


@pytest.mark.parametrize("name", sorted({card.name for card in CARDS.values()}))
async def test_no_technique_works_otherwise_for_being_listened_to(name: str) -> None:
    card, heard = CARDS[name], Heard()
    silent = await play(card.run, channels(draws(ANSWERS * 2), pool=2), SUM, Setting(usual(card)))
    said = await play(
        overheard(card.run, heard), channels(draws(ANSWERS * 2), pool=2), SUM, Setting(usual(card))
    )

    assert said.events == silent.events
    assert sorted(one.step for one in said.asked) == sorted(one.step for one in silent.asked)
    assert heard.answer == said.reply
    assert heard.first is not None


async def test_the_line_that_a_technique_asks_for_is_no_part_of_a_plain_answer() -> None:
    heard = Heard()
    channel = draws([f"Way {place}.\n\nFinal answer: 42" for place in range(5)])
    card = CARDS["self_consistency"]
    await play(overheard(card.run, heard), channels(channel), SUM, Setting(usual(card)))

    assert heard.first is not None
    assert "Final answer" not in heard.first.text


async def test_of_a_call_that_failed_nothing_is_written_down() -> None:
    heard, down = Heard(), UpstreamFailed("down", "server", retryable=True)
    channel = draws([down, "It is 42.", "It is 42.", "It is 42.", "It is 42."])
    card = CARDS["self_consistency"]
    played = await play(overheard(card.run, heard), channels(channel), SUM, Setting(usual(card)))

    assert heard.first is None
    assert heard.answer == played.reply
