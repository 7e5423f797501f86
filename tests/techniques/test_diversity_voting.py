from __future__ import annotations

import pytest
from pydantic import BaseModel, ValidationError

from techniques.catalog.diversity_voting import (
    SureVote,
    diversity_mrc_discrete_N,
    diversity_mrc_discrete_N_soft,
)
from techniques.core.capabilities import Capabilities
from techniques.core.channel import Channels, Member, Technique
from techniques.parts.options import JudgedVote
from tests.techniques.pools import FINE, WRONG, drawers, judged, liking
from tests.techniques.scene import (
    Answer,
    Played,
    Setting,
    asks,
    draws,
    play,
    tokens,
)


@pytest.mark.parametrize(
    ("technique", "options"),
    [
        (diversity_mrc_discrete_N, JudgedVote()),
        (diversity_mrc_discrete_N_soft, SureVote()),
    ],
)
async def test_models_draw_in_turn_each_time_with_a_seed_of_its_own(
    technique: Technique, options: BaseModel
) -> None:
    channel = draws(["1", "2", "3", "4", "5"], lambda _request: WRONG)
    played = await play(technique, judged(channel), asks(), Setting(options))
    turns = {f"c{place}": f"model-{place % 2}" for place in range(5)}
    assert drawers(played) == turns
    candidates = [one for one in played.asked if one.role == "candidate"]
    assert len({one.sampling.seed for one in candidates}) == 5


@pytest.mark.parametrize(
    ("technique", "options"),
    [
        (diversity_mrc_discrete_N, JudgedVote()),
        (diversity_mrc_discrete_N_soft, SureVote()),
    ],
)
async def test_one_model_draws_alone_with_a_warning(
    technique: Technique, options: BaseModel
) -> None:
    channel = draws(["42"] * 5, lambda _request: FINE)
    played = await play(technique, judged(channel, 1), asks(), Setting(options))
    assert played.text == "42"
    assert "one_model" in played.warnings
    played = await play(
        technique, judged(draws(["42"] * 5, lambda _request: FINE)), asks(), Setting(options)
    )
    assert "one_model" not in played.warnings


async def test_a_judge_weighs_the_votes_of_unequal_models() -> None:
    channel = draws(["41", "42", "41"], liking("\n42\n"))
    setting = Setting(JudgedVote(num_samples=3))
    played = await play(diversity_mrc_discrete_N, judged(channel), asks(), setting)
    assert played.text == "42"


async def soft(
    answers: list[Answer], abilities: tuple[Capabilities, Capabilities] | None = None
) -> Played:
    channel = draws(answers)
    first, second = abilities or (Capabilities(), Capabilities())
    members = Member("a", "A", channel, first), Member("b", "B", channel, second)
    setting = Setting(SureVote(num_samples=len(answers)))
    return await play(diversity_mrc_discrete_N_soft, Channels(members[0], members), asks(), setting)


async def test_votes_weigh_by_how_sure_each_model_is_compared_with_itself() -> None:
    answers: list[Answer] = [
        tokens("41", 0.90),
        tokens("42", 0.75),
        tokens("42", 0.95),
        tokens("41", 0.5),
    ]
    played = await soft(answers)
    assert played.text == "42"
    weights = played.note("votes")["weights"]
    assert weights[1] > weights[0]
    assert weights[2] > weights[0]
    assert played.reply.logprobs is None


async def test_a_model_that_tells_nothing_votes_with_the_median_and_is_not_asked_to_tell() -> None:
    mute = Capabilities(logprobs=False)
    answers: list[Answer] = [tokens("41", 0.5), "42", tokens("42", 0.6)]
    played = await soft(answers, (Capabilities(), mute))
    assert played.text == "42"
    told = {one.step: one.sampling.logprobs for one in played.asked}
    assert told == {"c0": True, "c1": False, "c2": True}
    assert played.note("votes")["evidence"][1] is None


async def test_where_no_model_tells_they_state_it() -> None:
    mute = Capabilities(logprobs=False)
    answers: list[Answer] = ["41\nConfidence: 60", "42\nConfidence: 99", "41\nConfidence: 60"]
    played = await soft(answers, (mute, mute))
    assert played.text == "42"
    assert played.warnings["confidence_source_changed"] == "response_probability -> verbal_100"


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (JudgedVote, {"weights": "count"}),
        (SureVote, {"softmax_temperature": 0.001}),
    ],
)
def test_options_out_of_range_are_refused_by_name(
    options: type[BaseModel], wrong: dict[str, object]
) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        options.model_validate(wrong)
