from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import BaseModel, ValidationError

from techniques import catalog
from techniques.catalog.diversity_branching import (
    Prompts,
    Temperatures,
    diversity_frequency,
    diversity_time,
)
from techniques.core.capabilities import Capabilities
from techniques.core.channel import Technique
from techniques.core.errors import UpstreamFailed
from techniques.core.masks import masked
from techniques.core.registry import load
from techniques.core.request import Request, Sampling
from techniques.testing import ScriptedChannel
from tests.techniques.drafts import BOTH, DEEP, SALT, SEA
from tests.techniques.pools import judged, liking, writing
from tests.techniques.scene import Cap, Played, Setting, asks, draws, play, shown

OLD = "The sea is old. It was there before the land. Much of it was never seen."
WIDE = "The sea is wide. It can be crossed in a week. Few have done so alone."
FOUR = [DEEP, SALT, OLD, WIDE]
DOWN = UpstreamFailed("down", "server", retryable=True)
ALL: list[tuple[Technique, type[BaseModel]]] = [
    (diversity_frequency, Prompts),
    (diversity_time, Temperatures),
]
each_technique = pytest.mark.parametrize(("technique", "options"), ALL)


async def run(
    technique: Technique, options: BaseModel, channel: ScriptedChannel, request: Request = SEA
) -> Played:
    return await play(technique, judged(channel), request, Setting(options))


def drawn_by(played: Played) -> list[Request]:
    found = [one for one in played.asked if one.role == "candidate"]
    return sorted(found, key=lambda one: one.step)


@each_technique
async def test_one_model_answers_in_several_ways_and_one_answer_is_made(
    technique: Technique, options: type[BaseModel]
) -> None:
    played = await run(technique, options(), draws(FOUR, writing(BOTH)))
    assert played.text == BOTH
    asked = drawn_by(played)
    assert [one.step for one in asked] == ["c0", "c1", "c2", "c3"]
    assert {one.model for one in asked} == {"model-0"}
    assert len({one.sampling.seed for one in asked}) == 4


@each_technique
@pytest.mark.parametrize(("streamed", "most"), [(False, 4 + 4 + 1 + 2), (True, 4 + 4 + 1)])
async def test_it_takes_as_many_calls_as_its_card_says(
    technique: Technique, options: type[BaseModel], *, streamed: bool, most: int
) -> None:
    request = replace(SEA, stream=streamed)
    played = await run(technique, options(), draws(FOUR, writing(BOTH)), request)
    assert (played.text, len(played.asked)) == (BOTH, most)


@each_technique
async def test_a_question_with_one_right_answer_is_voted_on(
    technique: Technique, options: type[BaseModel]
) -> None:
    channel = draws(["41", "42", "42", "7"], liking("\n42\n"))
    played = await run(technique, options(), channel, asks())
    assert (played.text, len(played.asked)) == ("42", 8)


@each_technique
async def test_ways_that_fail_are_left_out(technique: Technique, options: type[BaseModel]) -> None:
    played = await run(technique, options(), draws([DOWN, DOWN, OLD, DOWN]))
    assert (played.text, len(played.asked)) == (OLD, 4)


@each_technique
async def test_a_cap_leaves_ways_out(technique: Technique, options: type[BaseModel]) -> None:
    channel = draws(FOUR, writing(BOTH))
    setting = Setting(options(), cap=Cap(channel, 5))
    played = await play(technique, judged(channel), SEA, setting)
    assert (played.text, len(drawn_by(played))) == (BOTH, 2)
    assert len(played.asked) <= 5


async def test_the_question_is_first_put_as_it_is_and_then_with_words_after_it() -> None:
    request = replace(SEA, sampling=Sampling(temperature=0.2))
    played = await run(diversity_frequency, Prompts(), draws(FOUR, writing(BOTH)), request)
    plain, *others = [shown(one) for one in drawn_by(played)]
    assert plain == shown(SEA)
    assert all(other.startswith(plain) and other != plain for other in others)
    assert len(set(others)) == 3
    assert {one.sampling.temperature for one in drawn_by(played)} == {0.2}


async def test_the_first_way_stays_first_whatever_is_chosen() -> None:
    options = Prompts(variants=("plan_first", "reread", "identity"))
    played = await run(diversity_frequency, options, draws(FOUR, writing(BOTH)))
    first, *others = [shown(one) for one in drawn_by(played)]
    assert (first, len(others)) == (shown(SEA), 2)


async def test_a_short_answer_is_not_drawn_where_a_long_one_is_wanted() -> None:
    request = asks("Tell me of the sea, in detail.")
    played = await run(diversity_frequency, Prompts(), draws(FOUR, writing(BOTH)), request)
    assert len(drawn_by(played)) == 3


async def test_each_temperature_is_drawn_at_once() -> None:
    played = await run(diversity_time, Temperatures(), draws(FOUR, writing(BOTH)))
    assert [one.sampling.temperature for one in drawn_by(played)] == [0.3, 0.5, 0.7, 0.9]
    assert {shown(one) for one in drawn_by(played)} == {shown(SEA)}


async def test_a_draw_above_one_weighs_no_more_than_the_middle_of_the_others() -> None:
    options = Temperatures(temperatures=(0.3, 0.7, 1.3), dominance=0, guard="cheap")
    channel = draws([DEEP, SALT, OLD], writing(BOTH, liking("salt", "old")))
    played = await run(diversity_time, options, channel)
    text = shown(played.asked[-1])
    assert text.index(SALT) < text.index(OLD) < text.index(DEEP)
    channel = draws([DEEP, SALT, OLD], writing(BOTH, liking("old")))
    played = await run(diversity_time, options, channel)
    assert "support" not in shown(played.asked[-1])


def test_a_temperature_that_cannot_be_set_makes_it_a_plain_call() -> None:
    cards = load(catalog)
    fixed = Capabilities(temperature=False)
    assert masked(cards["diversity_time"].traits.modality, SEA, fixed) == "fixed temperature"
    assert masked(cards["diversity_frequency"].traits.modality, SEA, fixed) is None


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (Prompts, {"variants": ["identity"]}),
        (Prompts, {"variants": ["identity", "loud"]}),
        (Temperatures, {"temperatures": [0.5]}),
        (Temperatures, {"temperatures": [0.5, 1.4]}),
        (Temperatures, {"temperatures": [0.1] * 7}),
    ],
)
def test_options_out_of_range_are_refused_by_name(
    options: type[BaseModel], wrong: dict[str, object]
) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        options.model_validate(wrong)
