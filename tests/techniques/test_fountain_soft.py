from __future__ import annotations

from collections.abc import Callable

import pytest

from techniques.catalog.fountain import Sure, fountain_soft
from techniques.core.capabilities import Capabilities
from techniques.core.json import Json
from techniques.core.reply import Reply
from techniques.core.request import Request
from techniques.testing import ScriptedChannel
from tests.techniques.scene import (
    Answer,
    Cap,
    Played,
    Setting,
    asks,
    channels,
    draws,
    marks,
    play,
    prefers,
    scripted,
    shown,
    tokens,
    with_judge,
)
from tests.techniques.sea import ALL, FIRST, SEA, SECOND, THIRD


async def run(
    channel: ScriptedChannel, request: Request = SEA, cap: Cap | None = None, **options: Json
) -> Played:
    setting = Setting(Sure(**options), cap=cap)
    return await play(fountain_soft, with_judge(channel), request, setting)


def writing(winner: str = ALL) -> Callable[[Request], Answer]:
    """Write ALL where asked to combine, and prefer *winner*."""

    def answer(request: Request) -> Answer:
        if request.role == "synthesis":
            return ALL
        assert "answer 2>>" in shown(request)
        return prefers("1" if f"answer 1>>\n{winner}" in shown(request) else "2")

    return answer


async def combined(*likely: float, **options: Json) -> Played:
    """Draw one answer for each probability, and make one of them."""
    texts = (FIRST, SECOND, THIRD)
    answers = [tokens(text, p) for text, p in zip(texts, likely, strict=True)]
    options = {"max_samples": 3, "expected_improvement": False, **options}
    return await run(draws(answers, writing()), **options)


def material(played: Played) -> set[str]:
    """Return the answers from which another was written."""
    asked = [one for one in played.asked if one.role == "synthesis"]
    return {text for one in asked for text in (FIRST, SECOND, THIRD) if text in shown(one)}


async def test_votes_weigh_by_how_likely_the_words_were_and_no_judge_is_asked() -> None:
    sure, unsure = tokens("41", 0.95), tokens("42", 0.4)
    played = await run(draws([sure, unsure, unsure]), asks(), max_samples=3)
    assert played.text == "41"
    assert set(played.roles()) == {"candidate"}
    played = await run(draws([sure, unsure, unsure]), asks(), max_samples=3, softmax_temperature=10)
    assert played.text == "42"


async def test_it_ends_when_no_draw_can_outweigh_what_stands() -> None:
    certain = tokens("42", 1.0)
    assert len((await run(draws([certain] * 8), asks())).asked) == 5
    assert len((await run(draws([certain] * 8), asks(), stop="beta")).asked) == 4
    doubtful = [tokens("42", 0.9), *[tokens("41", 0.3)] * 7]
    assert len((await run(draws(doubtful), asks())).asked) == 8


async def test_log_probabilities_are_asked_for_and_not_shown() -> None:
    played = await run(draws([tokens("42", 1.0)] * 8), asks())
    assert all(one.sampling.logprobs for one in played.asked)
    assert played.reply.logprobs is None


async def test_one_answer_is_made_of_those_that_are_likely_enough() -> None:
    played = await combined(0.9, 0.8, 0.7)
    assert played.text == ALL
    assert material(played) == {FIRST, SECOND, THIRD}
    assert material(await combined(0.9, 0.8, 0.4)) == {FIRST, SECOND}
    assert material(await combined(0.9, 0.8, 0.4, erasure_share=0.4)) == {FIRST, SECOND, THIRD}
    assert material(await combined(0.9, 0.8, 0.1, erasure_share=0)) == {FIRST, SECOND, THIRD}


async def test_the_likeliest_is_given_as_it_is_where_it_leads_by_half_a_nat() -> None:
    played = await combined(0.5, 0.9, 0.5)
    assert played.text == SECOND
    assert "synthesis" not in played.roles()
    assert material(await combined(0.5, 0.9, 0.5, dominance_gap=0.6)) == {FIRST, SECOND, THIRD}


async def test_it_costs_a_call_less_for_each_draw_than_with_a_judge() -> None:
    answers: list[Answer] = [tokens(f"{FIRST} {place}", 0.8) for place in range(8)]
    played = await run(draws(answers, writing()), expected_improvement=False)
    assert len(played.asked) == 11
    assert played.roles().count("judge") == 2
    played = await run(draws(answers, writing()), expected_improvement=False, guard="cheap")
    assert len(played.asked) == 9
    played = await run(draws(answers, writing()), guard="cheap")
    assert played.roles() == ["candidate"] * 4 + ["synthesis"]


async def test_how_sure_models_are_is_compared_within_each_of_them() -> None:
    doubting = [tokens("42", 0.6), tokens("41", 0.3)]
    confident = [tokens("41", 0.9), tokens("43", 0.9)]
    models = channels(draws(doubting + confident), pool=2)
    setting = Setting(Sure(max_samples=4, escalate_after=2))
    assert (await play(fountain_soft, models, asks(), setting)).text == "42"


async def test_without_any_log_probabilities_it_is_done_as_fountain() -> None:
    abilities = Capabilities(logprobs=False)

    def answer(request: Request) -> Answer:
        if request.role == "judge":
            return marks() if SECOND in shown(request) else marks("n04")
        return SECOND if request.step == "c1" else FIRST

    models = channels(scripted(answer), abilities=abilities)
    played = await play(fountain_soft, models, SEA, Setting(Sure(dominance_gap=3)))
    assert played.text == SECOND
    assert played.warnings["confidence_unavailable"]
    assert "judge" in played.roles()
    vote = await play(
        fountain_soft, channels(draws(["42"] * 8), abilities=abilities), asks(), Setting(Sure())
    )
    assert vote.roles() == ["candidate"] * 4


async def test_draws_that_tell_nothing_count_like_the_middle_of_the_others() -> None:
    played = await run(draws(["41", tokens("42", 0.9), tokens("42", 0.9)]), asks(), max_samples=3)
    assert played.text == "42"


async def test_where_no_draw_tells_anything_it_is_a_plain_vote() -> None:
    played = await run(draws(["42"] * 8), asks())
    assert played.text == "42"
    assert len(played.asked) == 5


@pytest.mark.parametrize("sure", [0.0, 1e-30])
async def test_an_answer_that_is_next_to_impossible_is_no_trouble(sure: float) -> None:
    never: Reply = tokens(FIRST, max(sure, 5e-324))
    played = await run(draws([never, tokens(SECOND, 0.9)]), max_samples=2)
    assert played.text == SECOND


async def test_caps_count_draws_alone() -> None:
    channel = draws([tokens("41", 0.9), tokens("42", 0.8), tokens("43", 0.7)])
    played = await run(channel, asks(), cap=Cap(channel, 3))
    assert played.roles() == ["candidate"] * 3
