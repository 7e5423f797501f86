from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import anyio
import pytest
from pydantic import BaseModel

from techniques.catalog import diversity_selection as selection
from techniques.catalog import diversity_voting as diversity
from techniques.catalog import self_consistency
from techniques.core.channel import Channels, Member, Technique, TechniqueChannel
from techniques.core.reply import fold, replied
from techniques.core.task import Task
from techniques.parts.options import JudgedVote
from techniques.parts.trust import beside, outweighs, trusted
from techniques.testing import Line, ScriptedChannel
from tests.techniques.scene import (
    Answer,
    Played,
    asks,
    channels,
    draws,
    each,
    judging,
    marks,
    scripted,
    tokens,
)


@dataclass(frozen=True)
class Measured:
    """Accuracies of numbers by model, and the sureness of their answers."""

    accuracies: Mapping[str, float]
    sure: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    worst: float | None = None
    apart: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def accuracy(self, model: str, kind: str) -> float | None:
        return self.accuracies.get(model) if kind == "number" else None

    def ahead(self, model: str, other: str, kind: str) -> float | None:
        return self.apart.get((model, other)) if kind == "number" else None

    def rank(self, model: str, sureness: float) -> float | None:
        among = self.sure.get(model)
        return None if among is None else sum(one < sureness for one in among) / len(among)

    def odds(self, judge: str, kind: str, score: float) -> float | None:
        """A judge whose bad scores leave *worst* of the odds that its good ones do."""
        if self.worst is None or judge != "judge" or kind != "number":
            return None
        return 1.0 if score > 0.5 else self.worst


STRONG_FIRST = Measured({"m0": 0.95, "m1": 0.6, "m2": 0.6})
STRONG_LAST = Measured({"m0": 0.6, "m1": 0.6, "m2": 0.95})
LOW, HIGH = marks("n04"), marks()
ALIKE = Measured({"m0": 0.8, "m1": 0.75, "m2": 0.75})


def by_model(**answers: Answer) -> ScriptedChannel:
    return scripted(lambda request: answers[request.model.replace("model-", "m")])


async def run(
    channel: ScriptedChannel,
    known: Measured,
    options: BaseModel | None = None,
    technique: Technique = self_consistency.self_consistency,
) -> Played:
    models = channels(channel, pool=3)
    pool = tuple(replace(one, name=one.id) for one in models.pool)
    models = Channels(pool[0], pool, judge=Member("j", "judge", channel, name="judge"))
    setting = options or self_consistency.Options(pool="all")
    request = asks()
    task = Task(request, setting, calibration=known)
    async with TechniqueChannel(technique, task, models).open(request) as stream:
        events = [event async for event in stream]
    return Played(events, await fold(each(events)), channel.asked)


def test_trust_is_in_the_odds_of_being_right() -> None:
    assert trusted([0.9, 0.5]) == pytest.approx([1.0, 1 / 9])
    assert trusted([0.75, 0.9, 0.5]) == pytest.approx([1 / 3, 1.0, 1 / 9])
    assert trusted([]) == []


def test_no_model_is_beyond_doubt_and_none_is_worth_nothing() -> None:
    assert trusted([1.0, 0.98]) == pytest.approx([1.0, 1.0])
    assert 0 < trusted([0.9, 0.0])[1] < 0.01


def test_three_that_are_often_wrong_do_not_add_up_to_one_that_is_nearly_always_right() -> None:
    assert outweighs(trusted([0.95, 0.8, 0.8, 0.8]))
    assert not outweighs(trusted([0.85, 0.8, 0.8, 0.8]))
    assert not outweighs([])


async def test_weak_models_do_not_outvote_a_strong_one() -> None:
    played = await run(by_model(m0="42", m1="41", m2="41"), STRONG_FIRST)
    assert played.text == "42"
    assert not played.warnings


async def test_models_that_are_about_as_good_outvote_a_better_one() -> None:
    played = await run(by_model(m0="42", m1="41", m2="41"), ALIKE)
    assert played.text == "41"


async def test_the_best_decides_at_once_where_it_outweighs_everyone() -> None:
    slow = Line(replied("41"), after=60)
    played = await run(by_model(m0="42", m1=slow, m2=slow), STRONG_FIRST)
    assert (played.text, len(played.asked)) == ("42", 1)
    assert anyio.current_time() < 1


async def test_one_that_outweighs_everyone_draws_its_share_of_the_votes_alone() -> None:
    answers = iter(["41", "42", "42"])
    channel = scripted(lambda request: next(answers) if request.model == "model-0" else "41")
    options = self_consistency.Options(pool="all", num_samples=9)
    played = await run(channel, STRONG_FIRST, options)
    assert played.text == "42"
    assert [request.model for request in played.asked] == ["model-0"] * 3


async def test_a_share_too_small_to_vote_on_is_one_answer() -> None:
    options = self_consistency.Options(pool="all", num_samples=8)
    played = await run(by_model(m0="42", m1="41", m2="41"), STRONG_FIRST, options)
    assert (played.text, len(played.asked)) == ("42", 1)


@pytest.mark.parametrize(("share", "text"), [(0.4, "41"), (0.2, "42")])
async def test_models_that_err_where_the_best_errs_do_not_outvote_it(
    share: float, text: str
) -> None:
    apart = {("m1", "m0"): share, ("m2", "m0"): share}
    options = self_consistency.Options(pool="all", num_samples=3)
    known = replace(ALIKE, apart=apart)
    played = await run(by_model(m0="42", m1="41", m2="41"), known, options)
    assert played.text == text


def test_one_that_is_ahead_of_the_best_counts_no_more_than_it() -> None:
    assert beside(0.2) == pytest.approx(0.25)
    assert beside(0.6) == 1.0


async def test_the_most_trusted_is_asked_first_wherever_it_stands() -> None:
    played = await run(by_model(m0="41", m1="41", m2="42"), STRONG_LAST)
    assert played.text == "42"
    assert [request.model for request in played.asked] == ["model-2"]


async def test_the_others_vote_where_the_best_fails() -> None:
    played = await run(by_model(m0="", m1="41", m2="41"), STRONG_FIRST)
    assert played.text == "41"


async def test_without_measurement_each_counts_the_same_and_that_is_told() -> None:
    nothing = Measured({})
    played = await run(by_model(m0="42", m1="41", m2="41"), nothing)
    assert played.text == "41"
    assert played.warnings["uncalibrated"] == "m0, m1, m2 (number)"


async def test_one_model_that_was_not_measured_leaves_all_alike() -> None:
    partly = Measured({"m0": 0.95, "m1": 0.6})
    played = await run(by_model(m0="42", m1="41", m2="41"), partly)
    assert (played.text, played.warnings["uncalibrated"]) == ("41", "m0, m1, m2 (number)")


async def test_draws_of_one_model_need_no_calibration() -> None:
    options = self_consistency.Options()
    played = await run(by_model(m0="42"), Measured({}), options)
    assert "uncalibrated" not in played.warnings


async def test_a_judges_score_and_trust_weigh_together() -> None:
    channel = draws(["42", "41", "41"], lambda _request: marks())
    options = JudgedVote(num_samples=3)
    played = await run(channel, STRONG_FIRST, options, diversity.diversity_mrc_discrete_N)
    assert played.text == "42"
    assert played.note("votes")["trust"][0] == 1.0


@pytest.mark.parametrize(("worst", "text"), [(0.5, "42"), (0.01, "41")])
async def test_a_judge_counts_as_much_as_it_was_measured_to_tell(worst: float, text: str) -> None:
    known = replace(Measured({"m0": 0.9, "m1": 0.7, "m2": 0.7}), worst=worst)
    options = JudgedVote(num_samples=3, stop="exact")
    channel = draws(["42", "41", "40"], judging({"42": LOW, "41": HIGH, "40": LOW}))
    technique = diversity.diversity_mrc_discrete_N
    assert (await run(channel, known, options, technique)).text == text


@pytest.mark.parametrize(("worst", "text"), [(0.5, "42"), (0.01, "41")])
async def test_a_measured_judge_does_not_choose_a_weak_answer_lightly(
    worst: float, text: str
) -> None:
    known = replace(Measured({"m0": 0.9, "m1": 0.6, "m2": 0.6}), worst=worst)
    channel = draws(["42", "41", "40"], judging({"42": LOW, "41": HIGH, "40": LOW}))
    played = await run(channel, known, selection.OncePerModel(), selection.diversity_sc)
    assert played.text == text
    assert "p0a" not in {request.step for request in played.asked}


@pytest.mark.parametrize(("third", "text"), [("40", "42"), ("41", "41")])
async def test_answers_that_agree_stand_together_before_a_measured_judge(
    third: str, text: str
) -> None:
    known = replace(Measured({"m0": 0.9, "m1": 0.8, "m2": 0.8}), worst=0.3)
    channel = draws(["42", "41", third], judging({"42": LOW, "41": HIGH, "40": LOW}))
    apart = {("m1", "m0"): 0.15, ("m2", "m0"): 0.15}
    known = replace(known, apart=apart)
    played = await run(channel, known, selection.OncePerModel(), selection.diversity_sc)
    assert played.text == text


async def test_a_strong_model_that_gives_no_answer_is_not_chosen_for_it() -> None:
    known = replace(Measured({"m0": 0.95, "m1": 0.6, "m2": 0.6}), worst=0.5)
    channel = draws(["I do not know.", "41", "41"], judging({"": HIGH}))
    played = await run(channel, known, selection.OncePerModel(), selection.diversity_sc)
    assert played.text == "41"


async def test_a_judge_that_was_not_measured_chooses_by_its_scores() -> None:
    channel = draws(["42", "41", "40"], judging({"42": LOW, "41": HIGH, "40": LOW}))
    known = Measured({"m0": 0.9, "m1": 0.6, "m2": 0.6})
    played = await run(channel, known, selection.OncePerModel(), selection.diversity_sc)
    assert played.text == "41"


async def test_how_sure_a_model_is_counts_among_its_own_answers() -> None:
    sure = {"m0": (0.2, 0.3, 0.4), "m1": (0.85, 0.9, 0.95), "m2": (0.85, 0.9, 0.95)}
    told = by_model(m0=tokens("42", 0.5), m1=tokens("41", 0.8), m2=tokens("41", 0.8))
    options = diversity.SureVote(num_samples=3)
    technique = diversity.diversity_mrc_discrete_N_soft
    played = await run(told, replace(ALIKE, sure=sure), options, technique)
    assert played.text == "42"
    told.asked.clear()
    assert (await run(told, ALIKE, options, technique)).text == "41"
