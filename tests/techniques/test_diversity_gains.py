from __future__ import annotations

import pytest

from techniques.catalog.diversity_combining import (
    EqualGain,
    MaximalRatio,
    SureRatio,
    diversity_egc,
    diversity_mrc,
    diversity_mrc_soft,
)
from techniques.core.capabilities import Capabilities
from techniques.core.channel import Channels, Member
from techniques.core.events import Provisional
from techniques.core.request import Request
from techniques.phases.attempt import progress
from techniques.testing import ScriptedChannel
from tests.techniques.drafts import BOTH, DEEP, SALT, SEA
from tests.techniques.pools import FINE, judged, liking, writing
from tests.techniques.scene import (
    Answer,
    Played,
    Setting,
    asks,
    channels,
    draws,
    play,
    prefers,
    shown,
    tokens,
)

OLD = "The sea is old. It was there before the land. Much of it was never seen."


async def run(
    channel: ScriptedChannel,
    options: MaximalRatio | None = None,
    request: Request = SEA,
    pool: int = 3,
) -> Played:
    setting = Setting(options or MaximalRatio())
    return await play(diversity_mrc, judged(channel, pool), request, setting)


async def test_the_better_judged_count_more() -> None:
    judge = liking("salt", "old")
    channel = draws([DEEP, SALT, OLD], writing(BOTH, judge))
    played = await run(channel, MaximalRatio(dominance=0))
    (synthesis,) = [one for one in played.asked if one.role == "synthesis"]
    text = shown(synthesis)
    assert "draft A (strong support)>>\n" + SALT in text
    assert "draft C (weak support)>>\n" + DEEP in text


async def test_a_model_that_is_judged_far_better_is_the_answer() -> None:
    played = await run(draws([DEEP, SALT, OLD], writing(BOTH, liking("salt"))))
    assert (played.text, len(played.asked)) == (SALT, 6)
    assert played.note("combined")["by"] == "dominance"


async def test_a_judge_weighs_a_vote() -> None:
    judge = liking("\n42\n")
    played = await run(draws(["41", "42", "41"], judge), request=asks())
    assert played.text == "42"


async def test_what_a_judge_likes_less_than_the_best_is_not_the_answer() -> None:
    def judge(request: Request) -> Answer:
        if request.role == "synthesis":
            return BOTH
        return prefers("tie") if "answer 2>>" in shown(request) else FINE

    played = await run(draws([DEEP, SALT], judge), pool=2)
    assert played.text == DEEP
    assert played.note("synthesis")["broke"] == "preference"


@pytest.mark.parametrize(("wanted", "model"), [("best", "model-0"), ("judge", "judge")])
async def test_the_first_model_or_the_judge_writes(wanted: str, model: str) -> None:
    options = MaximalRatio.model_validate({"synth_channel": wanted, "guard": "cheap"})
    played = await run(draws([DEEP, SALT], writing(BOTH)), options, pool=2)
    assert [one.model for one in played.asked if one.role == "synthesis"] == [model]


async def test_without_a_judge_the_model_judges_itself_and_says_so() -> None:
    channel = draws([DEEP, SALT], writing(BOTH))
    setting = Setting(MaximalRatio())
    played = await play(diversity_mrc, channels(channel, pool=2), SEA, setting)
    assert (played.text, "self_judged" in played.warnings) == (BOTH, True)


async def test_a_judge_that_says_nothing_of_use_leaves_equal_weights() -> None:
    channel = draws([DEEP, SALT], writing(BOTH, lambda _request: "Hm."))
    played = await run(channel, MaximalRatio(guard="cheap"), pool=2)
    assert played.text == BOTH
    assert "judge_unparsable" in played.warnings
    assert "support" not in shown(next(one for one in played.asked if one.role == "synthesis"))


async def test_something_can_be_seen_before_the_judge_has_spoken() -> None:
    played = await run(draws([DEEP, SALT], writing(BOTH)), pool=2)
    seen, weighing = Provisional(DEEP), progress("weighing", answers=2)
    assert played.events.index(seen) < played.events.index(weighing)


async def test_with_equal_gain_no_judge_is_asked_and_no_order_tells_anything() -> None:
    firsts = set()
    for seed in range(8):
        channel = draws([DEEP, SALT], writing(BOTH))
        played = await play(diversity_egc, judged(channel), SEA, Setting(EqualGain(), seed))
        assert "judge" not in played.roles()
        text = shown(channel.asked[-1])
        assert "support" not in text
        firsts.add(text.index(DEEP) < text.index(SALT))
    assert firsts == {True, False}


async def test_with_equal_gain_most_models_decide_what_can_be_compared() -> None:
    models = judged(draws(["41", "42", "42"]), 3)
    played = await play(diversity_egc, models, asks(), Setting(EqualGain()))
    assert (played.text, len(played.asked)) == ("42", 3)


async def soft(*answers: Answer, abilities: Capabilities | None = None, **options: float) -> Played:
    channel = draws(answers, writing(BOTH))
    able = Capabilities()
    first, second, third = (
        Member(name, name, channel, abilities if name == "b" and abilities else able)
        for name in "abc"
    )
    pool = (first, second, third)[: len(answers)]
    setting = Setting(SureRatio.model_validate(options))
    return await play(diversity_mrc_soft, Channels(first, pool), SEA, setting)


async def test_the_surer_model_counts_more() -> None:
    played = await soft(tokens(DEEP, 0.80), tokens(SALT, 0.85), tokens(OLD, 0.82))
    text = shown(played.asked[-1])
    assert text.index(SALT) < text.index(OLD) < text.index(DEEP)
    assert "draft B (strong support)" in text
    assert "draft C (medium support)" in text
    assert played.reply.logprobs is None


async def test_a_model_that_is_far_surer_than_all_others_is_the_answer() -> None:
    played = await soft(tokens(DEEP, 0.5), tokens(SALT, 0.6))
    assert (played.text, len(played.asked)) == (SALT, 2)
    assert (await soft(tokens(DEEP, 0.55), tokens(SALT, 0.6))).text == BOTH


async def test_a_model_that_tells_nothing_counts_as_the_middle() -> None:
    mute = Capabilities(logprobs=False)
    played = await soft(tokens(DEEP, 0.9), SALT, tokens(OLD, 0.8), abilities=mute, dominance=0)
    text = shown(played.asked[-1])
    assert text.index(DEEP) < text.index(SALT) < text.index(OLD)
    told = {one.step: one.sampling.logprobs for one in played.asked if one.role == "candidate"}
    assert told == {"c0": True, "c1": False, "c2": True}


async def test_where_no_model_tells_the_gains_are_equal_with_a_warning() -> None:
    played = await soft(DEEP, SALT)
    assert played.text == BOTH
    assert "confidence_unusable" in played.warnings


async def test_where_no_model_can_tell_they_state_it() -> None:
    mute = Capabilities(logprobs=False)
    channel = draws([f"{DEEP}\nConfidence: 70", f"{SALT}\nConfidence: 75"], writing(BOTH))
    members = (Member("a", "A", channel, mute), Member("b", "B", channel, mute))
    played = await play(
        diversity_mrc_soft, Channels(members[0], members), SEA, Setting(SureRatio(dominance=0))
    )
    assert played.warnings["confidence_source_changed"] == "response_probability -> verbal_100"
    text = shown(played.asked[-1])
    assert text.index(SALT) < text.index(DEEP)
    assert "Confidence:" not in text
