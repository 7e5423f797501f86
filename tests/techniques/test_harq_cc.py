from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest
from pydantic import ValidationError

from techniques.catalog.harq_cc import Options, harq_cc
from techniques.core.events import Note, Provisional
from techniques.core.json import Json
from techniques.core.request import Request, Tool
from techniques.testing import ScriptedChannel
from tests.techniques.scene import (
    Answer,
    Cap,
    Played,
    Setting,
    asks,
    calls,
    channels,
    draws,
    marks,
    play,
    prefers,
    shown,
    with_judge,
)
from tests.techniques.sea import ALL, DOWN, FIRST, SEA, SECOND, THIRD, scoring

FINE, FAIR, POOR, WRONG = marks(), marks("n01", "n05"), marks("n01", "n05", "n09"), marks("n04")
NO: Final = "I can't help with that."


async def run(
    channel: ScriptedChannel, request: Request = SEA, cap: Cap | None = None, **options: Json
) -> Played:
    return await play(harq_cc, with_judge(channel), request, Setting(Options(**options), cap=cap))


def alike(score: str) -> Callable[[Request], Answer]:
    """Give every answer the same *score*, and prefer what was written."""
    return scoring({"": score}, ALL)


async def test_the_first_answer_is_enough_if_it_is_good_enough() -> None:
    played = await run(draws([FIRST], scoring({FIRST: FINE})))
    assert played.text == FIRST
    assert played.roles() == ["candidate", "judge"]
    assert played.note("draws")["accepted"] is True


async def test_then_two_at_a_time_until_one_is_accepted() -> None:
    played = await run(draws([FIRST, SECOND, THIRD], scoring({THIRD: FINE, "": FAIR})))
    assert played.text == THIRD
    assert played.roles() == ["candidate", "judge"] + ["candidate"] * 2 + ["judge"] * 2


async def test_where_none_is_accepted_one_answer_is_made_of_all() -> None:
    played = await run(draws([FIRST, SECOND, THIRD, FIRST, SECOND], alike(FAIR)))
    assert played.text == ALL
    assert played.roles().count("candidate") == 5
    assert len(played.asked) == 13
    (writing,) = [one for one in played.asked if one.role == "synthesis"]
    assert all(text in shown(writing) for text in (FIRST, SECOND, THIRD))
    assert "support)" not in shown(writing)
    assert writing.sampling.temperature == 0.3


async def test_what_is_written_must_be_preferred_to_the_best_that_was_drawn() -> None:
    scores: dict[str, Answer] = {SECOND: FAIR, "": POOR}
    played = await run(draws([FIRST, SECOND, THIRD], scoring(scores, SECOND)), max_rounds=3)
    assert played.text == SECOND


async def test_the_threshold_can_be_set() -> None:
    played = await run(draws([FIRST], scoring({FIRST: FAIR})), quality_threshold=0.8)
    assert played.roles() == ["candidate", "judge"]


async def test_answers_that_can_be_compared_are_voted_on_by_their_scores() -> None:
    scores: dict[str, Answer] = {"It is 41.": FAIR, "": WRONG}
    answers = ["It is 41.", "It is 42.", "It is 42."]
    played = await run(draws(answers, scoring(scores)), asks(), max_rounds=3)
    assert played.text == "It is 41."
    assert "synthesis" not in played.roles()
    played = await run(draws(answers, alike(FAIR)), asks(), max_rounds=3)
    assert played.text == "It is 42."


async def test_the_line_that_states_the_answer_is_taken_out_again() -> None:
    played = await run(draws(["6 * 7 is 42.\nFinal answer: 42"], alike(FINE)), asks())
    assert played.text == "6 * 7 is 42."
    assert "Final answer:" in shown(played.asked[0])


async def test_an_action_is_accepted_or_voted_on_and_never_written() -> None:
    request = asks("hi", tools=(Tool("time"),))
    utc, cet = calls("time", '{"zone": "UTC"}'), calls("time", '{"zone": "CET"}')
    assert (await run(draws([utc], alike(FINE)), request)).reply == utc
    played = await run(draws([utc, cet, cet], alike(FAIR)), request, max_rounds=3)
    assert played.reply == cet
    assert "synthesis" not in played.roles()


@pytest.mark.parametrize("verdict", ["Hm.", DOWN])
async def test_without_a_verdict_it_ends_when_enough_agree(verdict: Answer) -> None:
    played = await run(draws(["It is 42."] * 9, lambda _one: verdict), asks(), max_rounds=9)
    assert played.text == "It is 42."
    assert played.roles().count("candidate") == 4


async def test_a_lost_first_draw_is_followed_by_others() -> None:
    played = await run(draws([DOWN, SECOND, ""], scoring({SECOND: FAIR})), max_rounds=3)
    assert played.text == SECOND
    assert played.roles().count("judge") == 1
    assert played.note("draws")["lost"] == {"empty": 1, "failed": 1}


async def test_one_survivor_is_given_word_for_word() -> None:
    played = await run(draws([FIRST, DOWN, DOWN], alike(FAIR)), max_rounds=3)
    assert played.text == FIRST
    assert "synthesis" not in played.roles()


async def test_a_third_declining_is_a_refusal() -> None:
    played = await run(draws([FIRST, NO, THIRD], alike(FAIR)), max_rounds=3)
    assert played.text == NO
    assert "refusal_kept" in played.warnings


async def test_the_first_draw_is_the_clients_own_and_the_others_are_hotter() -> None:
    played = await run(draws([FIRST, SECOND, THIRD], alike(FAIR)), max_rounds=3)
    drawn = sorted(
        (one.step, one.sampling.temperature) for one in played.asked if one.step[0] == "c"
    )
    assert drawn == [("c0", None), ("c1", 0.7), ("c2", 0.7)]


@pytest.mark.parametrize(
    ("most", "roles"),
    [
        (1, ["answer"]),
        (3, ["answer"]),
        (4, ["candidate", "judge", "candidate", "judge"]),
        (5, ["candidate", "judge", "candidate", "judge", "synthesis"]),
    ],
)
async def test_another_wave_is_drawn_only_if_it_fits(most: int, roles: list[str]) -> None:
    def other(request: Request) -> Answer:
        return FIRST if request.role == "answer" else alike(FAIR)(request)

    channel = draws([FIRST, SECOND, THIRD], other)
    played = await run(channel, cap=Cap(channel, most))
    assert played.roles() == roles


async def test_the_best_so_far_is_told_as_it_changes() -> None:
    scores: dict[str, Answer] = {FIRST: POOR, SECOND: FAIR, THIRD: FINE}
    played = await run(draws([FIRST, SECOND, THIRD], scoring(scores)))
    assert [one.text for one in played.events if isinstance(one, Provisional)] == [FIRST, THIRD]
    stages = [
        one.data["stage"]
        for one in played.events
        if isinstance(one, Note) and one.topic == "progress"
    ]
    assert stages == ["sampling", "judging"] * 2


async def test_without_a_judge_the_model_judges_itself_and_that_is_told() -> None:
    played = await play(harq_cc, channels(draws([FIRST], alike(FINE))), SEA, Setting(Options()))
    assert played.warnings == {"self_judged": "model-0"}


async def test_a_single_round_is_a_plain_call() -> None:
    played = await run(
        draws([], lambda one: prefers("tie") if one.role == "judge" else FIRST), max_rounds=1
    )
    assert played.roles() == ["answer"]


@pytest.mark.parametrize("options", [{"max_rounds": 11}, {"quality_threshold": 1.0}])
def test_options_have_bounds(options: dict[str, Json]) -> None:
    with pytest.raises(ValidationError):
        Options(**options)
