from __future__ import annotations

import json
from dataclasses import replace
from typing import Final

import anyio
import pytest
from pydantic import ValidationError

from techniques.catalog.fountain import Judged, fountain
from techniques.core.capabilities import Capabilities
from techniques.core.events import Provisional
from techniques.core.json import Json
from techniques.core.reply import replied
from techniques.core.request import Request, ResponseFormat, Sampling, Tool
from techniques.testing import Line, ScriptedChannel
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
    scripted,
    shown,
    with_judge,
)
from tests.techniques.sea import ALL, DOWN, FIRST, SEA, SECOND, THIRD, scoring

FINE, FAIR, NEAR, BEHIND, WRONG = (
    marks(),
    marks("n01", "n05"),
    marks("n01", "n05", "n09"),
    marks("n01", "n04", "n05"),
    marks("n04"),
)
EIGHT: Final = [f"{FIRST} {SECOND} {THIRD}"[place:] for place in range(8)]


async def run(
    channel: ScriptedChannel, request: Request = SEA, cap: Cap | None = None, **options: Json
) -> Played:
    setting = Setting(Judged(**options), cap=cap)
    return await play(fountain, with_judge(channel), request, setting)


async def decoded(scores: dict[str, Answer], winner: str = ALL, **options: Json) -> Played:
    """Draw three answers with these scores, and make one of them."""
    channel = draws([FIRST, SECOND, THIRD], scoring(scores, winner))
    options = {"max_samples": 3, "expected_improvement": False, **options}
    return await run(channel, **options)


def drawn(played: Played) -> list[Request]:
    """Return the draws in order."""
    asked = [one for one in played.asked if one.role == "candidate"]
    return sorted(asked, key=lambda one: int(one.step[1:]))


async def test_answers_that_can_be_compared_are_voted_on_and_no_judge_is_asked() -> None:
    played = await run(draws(["42"] * 8), asks())
    assert played.text == "42"
    assert played.roles() == ["candidate"] * 4


async def test_what_is_hard_to_tell_takes_all_draws() -> None:
    played = await run(draws(["41", "42"] * 4), asks())
    assert played.text == "41"
    assert played.roles() == ["candidate"] * 8
    assert "no_consensus" in played.warnings


async def test_no_more_are_drawn_at_once_than_could_be_enough() -> None:
    channel = draws(["42", "42", "41", "42", "42", "42"])
    played = await run(channel, asks(), stop="exact")
    assert channel.most_open == 2
    assert len(played.asked) == 6


@pytest.mark.parametrize(("confidence", "count"), [(0.8, 2), (0.9, 3), (0.95, 4), (0.98, 5)])
async def test_how_sure_is_sure_enough_can_be_said(confidence: float, count: int) -> None:
    played = await run(draws(["42"] * 8), asks(), confidence=confidence)
    assert len(played.asked) == count


async def test_each_draw_is_hotter_than_the_one_before() -> None:
    played = await run(draws(["41", "42"] * 4), asks(sampling=Sampling(temperature=0.2)))
    heat = [one.sampling.temperature for one in drawn(played)]
    assert heat == [0.2, 0.5, 0.6, 0.7, 0.8, 0.9, 0.9, 0.9]


@pytest.mark.parametrize(("after", "by"), [(4, "00001212"), (1, "01212121"), (32, "00000000")])
async def test_after_some_draws_the_other_models_take_turns(after: int, by: str) -> None:
    models = channels(draws(["41", "42"] * 4), pool=3)
    played = await play(fountain, models, asks(), Setting(Judged(escalate_after=after)))
    assert "".join(one.model[-1] for one in drawn(played)) == by


async def test_three_draws_lost_in_a_row_are_enough() -> None:
    answers: list[Answer] = ["42", DOWN, DOWN, "", "42", "42", "42", "42"]
    played = await run(draws(answers), asks())
    assert played.text == "42"
    assert len(played.asked) == 4
    answers = ["42", DOWN, "", "41", DOWN, "", "42", "42"]
    assert len((await run(draws(answers), asks())).asked) == 8


async def test_stragglers_are_cut_off_when_nothing_can_change() -> None:
    slow = Line(replied("41"), after=60)
    channel = draws(["42", "42", "42", slow, "41"])
    played = await run(channel, asks(), min_samples=4, max_samples=5)
    assert played.text == "42"
    assert anyio.current_time() < 1


async def test_short_answers_that_are_said_at_length_are_sorted_by_what_they_conclude() -> None:
    request = asks("Who wrote Hamlet?")
    long = "It was, as far as anybody can tell today, that man from Stratford named Shakespeare."
    longer = (
        "Most scholars hold that it was William Shakespeare, who was born in Stratford in 1564."
    )
    played = await run(draws([long, longer]), request, max_samples=2)
    assert played.text == long
    assert played.roles() == ["candidate"] * 2 + ["voter"]


async def test_actions_are_voted_on_and_no_judge_is_asked() -> None:
    request = asks("hi", tools=(Tool("time"),))
    utc, cet = calls("time", '{"zone": "UTC"}', "x"), calls("time", '{"zone":"CET"}', "y")
    played = await run(draws([utc, cet, cet, cet, cet, cet]), request)
    assert played.reply == cet
    assert set(played.roles()) == {"candidate"}


async def test_an_answer_in_words_where_tools_may_be_called_is_judged() -> None:
    request = replace(SEA, tools=(Tool("time"),))
    played = await run(draws([FIRST, SECOND], scoring({SECOND: FINE, "": FAIR})), request)
    assert played.text == SECOND


async def test_json_is_voted_on_by_what_it_decides() -> None:
    schema = {"type": "object", "required": ["n"]}
    request = asks(response_format=ResponseFormat("json_schema", schema, strict=True))
    answers: list[Answer] = ['{"n": 1}', '{"n": 2}', "{}", '{ "n": 2 }', '{"n":2}', '{"n": 2}']
    played = await run(draws([*answers, '{"n": 2}', '{"n": 2}']), request)
    assert json.loads(played.text) == {"n": 2}
    assert "judge" not in played.roles()


async def test_a_score_that_is_good_enough_ends_it() -> None:
    played = await run(draws([FIRST, SECOND], scoring({SECOND: FINE, "": FAIR})))
    assert played.text == SECOND
    assert played.roles() == ["candidate"] * 2 + ["judge"] * 2


async def test_no_more_is_drawn_where_little_is_to_be_gained() -> None:
    played = await run(draws(EIGHT, scoring({"": FAIR})))
    assert played.roles().count("candidate") == 4
    assert played.text == ALL
    full = await run(draws(EIGHT, scoring({"": FAIR})), expected_improvement=False)
    assert full.roles().count("candidate") == 8
    assert len(full.asked) == 19


@pytest.mark.parametrize(("first", "second", "more"), [(FAIR, NEAR, 1), (WRONG, FAIR, 2)])
async def test_one_more_is_drawn_where_it_is_barely_worth_it_and_two_where_it_is(
    first: str, second: str, more: int
) -> None:
    played = await run(draws(EIGHT, scoring({EIGHT[0]: first, "": second})))
    assert played.roles()[4 : 5 + more] == ["candidate"] * more + ["judge"]


@pytest.mark.parametrize(
    ("scores", "material"),
    [
        ({FIRST: FAIR, SECOND: NEAR, THIRD: NEAR}, {FIRST, SECOND, THIRD}),
        ({FIRST: BEHIND, SECOND: NEAR, THIRD: FAIR}, {SECOND, THIRD}),
        ({FIRST: FAIR, SECOND: "Hm.", THIRD: NEAR}, {FIRST, THIRD}),
    ],
)
async def test_one_answer_is_made_of_those_that_are_near_the_best(
    scores: dict[str, Answer], material: set[str]
) -> None:
    played = await decoded(scores)
    assert played.text == ALL
    (writing,) = [one for one in played.asked if one.role == "synthesis"]
    assert {text for text in (FIRST, SECOND, THIRD) if text in shown(writing)} == material


async def test_the_best_comes_first_and_stands_where_what_is_written_is_not_preferred() -> None:
    scores: dict[str, Answer] = {THIRD: FAIR, "": NEAR}
    played = await decoded(scores, winner=THIRD)
    assert played.text == THIRD
    (writing,) = [one for one in played.asked if one.role == "synthesis"]
    text = shown(writing)
    assert text.index(THIRD) < min(text.index(FIRST), text.index(SECOND))


async def test_the_best_is_given_as_it_is_where_no_other_is_near() -> None:
    played = await decoded({FIRST: WRONG, SECOND: FAIR, THIRD: WRONG})
    assert played.text == SECOND
    assert "synthesis" not in played.roles()


async def test_what_is_near_and_what_is_far_ahead_can_be_said() -> None:
    scores: dict[str, Answer] = {FIRST: WRONG, SECOND: FAIR, THIRD: WRONG}
    played = await decoded(scores, erasure_band=0.9, dominance_gap=0.9)
    assert played.text == ALL
    played = await decoded(scores, erasure_band=0.9, dominance_gap=0.1)
    assert played.text == SECOND


async def test_of_a_text_written_anew_nobody_could_tell_how_likely_its_words_were() -> None:
    request = replace(SEA, sampling=Sampling(logprobs=True))
    channel = draws([FIRST, SECOND], scoring({SECOND: FAIR, "": NEAR}))
    played = await run(channel, request, max_samples=2)
    assert played.text == SECOND
    assert "synthesis" not in played.roles()


async def test_without_verdicts_it_ends_when_enough_agree() -> None:
    played = await run(draws([FIRST] * 8, lambda _one: "Hm."))
    assert played.text == FIRST
    assert played.roles().count("candidate") == 4
    assert "synthesis" not in played.roles()


@pytest.mark.parametrize(
    ("most", "roles"),
    [
        (1, ["answer"]),
        (3, ["answer"]),
        (5, ["candidate"] * 2 + ["judge"] * 2 + ["synthesis"]),
    ],
)
async def test_another_wave_is_drawn_only_if_it_fits(most: int, roles: list[str]) -> None:
    def other(request: Request) -> Answer:
        return FIRST if request.role == "answer" else scoring({"": FAIR})(request)

    channel = draws(EIGHT, other)
    played = await run(channel, cap=Cap(channel, most), expected_improvement=False)
    assert played.roles() == roles


@pytest.mark.parametrize(("most", "count"), [(2, 2), (3, 3), (20, 8)])
async def test_a_vote_needs_no_room_for_a_judge(most: int, count: int) -> None:
    channel = draws(["41", "42"] * 4)
    played = await run(channel, asks(), cap=Cap(channel, most))
    assert played.roles() == ["candidate"] * count


async def test_the_leading_answer_is_told_as_it_changes() -> None:
    played = await run(draws(["41", "42", "42", "42", "42", "42"]), asks())
    assert [one.text for one in played.events if isinstance(one, Provisional)] == ["41", "42"]


async def test_a_third_declining_is_a_refusal() -> None:
    no = "I can't help with that."
    played = await run(draws([no, "42", "42", no, "42", "42"]), asks(), max_samples=6)
    assert played.text == no


async def test_nothing_is_asked_of_a_model_that_it_cannot_do() -> None:
    channel = scripted(lambda _request: "42")
    models = channels(channel, abilities=Capabilities(temperature=False, seed=False))
    played = await play(fountain, models, asks(), Setting(Judged()))
    assert {one.sampling.temperature for one in played.asked} == {None}


@pytest.mark.parametrize(
    "options", [{"max_samples": 33}, {"temperatures": ()}, {"temperatures": (2.0,)}]
)
def test_options_have_bounds(options: dict[str, Json]) -> None:
    with pytest.raises(ValidationError):
        Judged(**options)
