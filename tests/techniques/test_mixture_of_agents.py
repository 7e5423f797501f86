from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random

import pytest
from pydantic import BaseModel, ValidationError

from techniques.catalog.mixture_of_agents import Options, SelfOptions, mixture_of_agents, self_moa
from techniques.core.channel import Channels, TechniqueChannel
from techniques.core.errors import UpstreamFailed
from techniques.core.reply import fold
from techniques.core.request import Request, Sampling, Tool, said
from techniques.core.task import Task, Uncalibrated
from techniques.testing import ScriptedChannel
from tests.techniques.drafts import BOTH, DEEP, SALT, SEA
from tests.techniques.pools import drawers, writing
from tests.techniques.scene import (
    Answer,
    Cap,
    Played,
    Setting,
    asks,
    calls,
    channels,
    draws,
    each,
    play,
    shown,
)

OLD = "The sea is old. It was there before the land. Much of it was never seen."
WIDE = "The sea is wide. It can be crossed in a week. Few have done so alone."
FAR = "The sea is far. It can be reached in a day. Few have done so on foot."
DOWN = UpstreamFailed("down", "server", retryable=True)


@dataclass(frozen=True)
class Measured(Uncalibrated):
    """Accuracies by the model's name."""

    of: Mapping[str, float]

    def accuracy(self, model: str, kind: str) -> float | None:
        assert kind == "prose"
        return self.of.get(model)


async def run(
    channel: ScriptedChannel,
    options: Options | None = None,
    request: Request = SEA,
    pool: int = 3,
    cap: int | None = None,
) -> Played:
    setting = Setting(options or Options(), cap=None if cap is None else Cap(channel, cap))
    return await play(mixture_of_agents, channels(channel, pool=pool), request, setting)


async def measured(options: Options | None = None, **accuracy: float) -> dict[str, str]:
    """Who draws, by step, where so much is known of the models ``a``, ``b`` and ``c``."""
    channel = draws([DEEP, SALT, OLD, WIDE], writing(BOTH))
    models = channels(channel, pool=3)
    named = tuple(replace(one, name=name) for one, name in zip(models.pool, "abc", strict=True))
    task = Task(SEA, options or Options(), Random(7), calibration=Measured(accuracy))
    technique = TechniqueChannel(mixture_of_agents, task, Channels(named[0], named))
    async with technique.open(SEA) as stream:
        events = [event async for event in stream]
    return drawers(Played(events, await fold(each(events)), channel.asked))


async def test_each_model_proposes_and_the_first_sums_up() -> None:
    played = await run(draws([DEEP, SALT, OLD], writing(BOTH)))
    assert (played.text, len(played.asked)) == (BOTH, 3 + 1)
    assert drawers(played) == {"c0": "model-0", "c1": "model-1", "c2": "model-2"}
    last = played.asked[-1]
    assert (last.role, last.model) == ("synthesis", "model-0")
    assert all(text in shown(last) for text in (DEEP, SALT, OLD))


async def test_proposals_differ_in_temperature_but_for_the_first() -> None:
    request = replace(SEA, sampling=Sampling(temperature=0.1))
    played = await run(draws([DEEP, SALT, OLD], writing(BOTH)), request=request)
    told = {one.step: one.sampling.temperature for one in played.asked}
    assert told == {"c0": 0.1, "c1": 0.7, "c2": 0.7, "s0": 0.1}


async def test_in_a_further_layer_models_see_what_all_said_before() -> None:
    channel = draws([DEEP, SALT, OLD, WIDE, FAR, DEEP], writing(BOTH))
    played = await run(channel, Options(num_layers=2))
    assert (played.text, len(played.asked)) == (BOTH, 3 * 2 + 1)
    first, second = (
        [one for one in played.asked if one.step in steps] for steps in ("c0c1c2", "c3c4c5")
    )
    assert not any(DEEP in shown(one) for one in first)
    assert all(text in shown(one) for one in second for text in (DEEP, SALT, OLD))
    assert {one.model for one in second} == {"model-0", "model-1", "model-2"}
    last = shown(played.asked[-1])
    assert WIDE in last
    assert SALT not in last


async def test_models_that_agree_are_asked_no_more() -> None:
    played = await run(draws(["42", "It is 42.", "42"]), Options(num_layers=3), asks())
    assert (played.text, len(played.asked)) == ("42", 3)


async def test_what_can_be_compared_is_voted_on_after_the_last_layer() -> None:
    channel = draws(["41", "42", "7", "42", "42", "41"])
    played = await run(channel, Options(num_layers=2), asks())
    assert (played.text, len(played.asked)) == ("42", 6)


async def test_tool_calls_end_it_with_a_vote() -> None:
    request = replace(SEA, tools=(Tool("dive"),))
    answers = [calls("dive", f'{{"m": {m}}}', f"call_{m}") for m in (1, 2, 3)]
    played = await run(draws(answers), Options(num_layers=3), request)
    assert played.reply in answers
    assert len(played.asked) == 3


async def test_an_answer_whose_beginning_is_given_is_drawn_once_and_chosen() -> None:
    request = replace(SEA, messages=(*SEA.messages, said("assistant", "The sea")))
    played = await run(draws([DEEP, SALT, OLD]), Options(num_layers=3), request)
    assert played.text in {DEEP, SALT, OLD}
    assert (len(played.asked), "not_combined" in played.warnings) == (3, True)


async def test_a_layer_in_which_all_fail_leaves_the_one_before() -> None:
    channel = draws([DEEP, SALT, OLD, DOWN, DOWN, DOWN], writing(BOTH))
    played = await run(channel, Options(num_layers=2))
    assert played.text == BOTH
    assert DEEP in shown(played.asked[-1])


async def test_a_further_layer_is_drawn_only_if_the_summing_up_can_be_paid_too() -> None:
    channel = draws([DEEP, SALT, OLD, WIDE, FAR, DEEP], writing(BOTH))
    played = await run(channel, Options(num_layers=2), cap=6)
    assert (played.text, len(played.asked)) == (BOTH, 4)
    assert "cap_reached" in played.warnings


async def test_where_the_summing_up_fails_the_proposal_of_middle_length_is_the_answer() -> None:
    long = SALT + " It is old."
    played = await run(draws([long, SALT, "Salt."], lambda _request: DOWN))
    assert played.text == SALT


async def test_the_only_proposal_is_the_answer() -> None:
    played = await run(draws([DOWN, SALT, DOWN]), Options(num_layers=3))
    assert (played.text, len(played.asked)) == (SALT, 3)


async def test_the_answer_may_say_more_than_the_proposals_with_a_warning() -> None:
    new = "The sea is 11 km deep."
    played = await run(draws([DEEP, SALT, OLD], writing(new)))
    assert (played.text, played.warnings["synthesis_doubtful"]) == (new, "novelty")


async def test_a_judge_can_be_made_to_agree() -> None:
    played = await run(draws([DEEP, SALT, OLD], writing(BOTH)), Options(guard="full"))
    assert (played.text, len(played.asked)) == (BOTH, 3 + 1 + 2)


async def test_one_model_alone_proposes_several_times_with_seeds_of_its_own() -> None:
    played = await run(draws([DEEP, SALT, OLD], writing(BOTH)), pool=1)
    assert (played.text, len(played.asked)) == (BOTH, 4)
    candidates = [one for one in played.asked if one.role == "candidate"]
    assert len({one.sampling.seed for one in candidates}) == 3
    assert "one_model" in played.warnings


async def test_one_model_alone_can_be_left_a_plain_call() -> None:
    played = await run(draws([], writing(BOTH)), Options(self_moa="off"), pool=1)
    assert played.roles() == ["answer"]
    assert "technique_masked" in played.warnings


async def test_a_model_far_ahead_of_all_others_proposes_alone() -> None:
    assert await measured(a=0.7, b=0.9, c=0.8) == dict.fromkeys(("c0", "c1", "c2"), "model-1")
    assert await measured(a=0.8, b=0.84, c=0.8) == {f"c{n}": f"model-{n}" for n in range(3)}


async def test_a_model_far_behind_the_best_proposes_nothing() -> None:
    assert await measured(a=0.8, b=0.84, c=0.6) == {"c0": "model-0", "c1": "model-1"}
    wide = Options(proposer_floor=1)
    assert len(await measured(wide, a=0.8, b=0.84, c=0.6)) == 3


async def test_what_is_not_known_of_all_changes_nothing() -> None:
    assert len(await measured(a=0.2, b=0.9)) == 3


async def test_the_best_model_can_be_made_to_propose_alone() -> None:
    options = Options(self_moa="on", self_proposers=2)
    assert await measured(options, a=0.8, b=0.84, c=0.8) == dict.fromkeys(("c0", "c1"), "model-1")
    assert len(await measured(Options(self_moa="off"), a=0.7, b=0.9, c=0.8)) == 2


async def test_no_more_models_propose_than_wanted() -> None:
    channel = draws([DEEP, SALT], writing(BOTH))
    assert len(drawers(await run(channel, Options(num_proposers=2)))) == 2


def hearing(written: str) -> Callable[[Request], Answer]:
    remarks = json.dumps({"remarks": ["B is one-sided."]})
    write = writing(written)
    return lambda request: remarks if request.role == "critique" else write(request)


@pytest.mark.parametrize(
    ("options", "most"),
    [
        (SelfOptions(), 3 + 1),
        (SelfOptions(critique=True), 3 + 1 + 1),
        (SelfOptions(guard="full"), 3 + 1 + 2),
        (SelfOptions(num_proposers=5), 5 + 1),
    ],
)
async def test_self_moa_takes_as_many_calls_as_its_card_says(
    options: SelfOptions, most: int
) -> None:
    channel = draws([DEEP, SALT, OLD, WIDE, FAR], hearing(BOTH))
    played = await play(self_moa, channels(channel, pool=2), SEA, Setting(options))
    assert (played.text, len(played.asked)) == (BOTH, most)
    assert {one.model for one in played.asked} == {"model-0"}
    assert ("B is one-sided." in shown(played.asked[3 + options.critique])) == options.critique


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (Options, {"num_layers": 4}),
        (Options, {"num_proposers": 1}),
        (Options, {"self_moa": "maybe"}),
        (SelfOptions, {"num_proposers": 9}),
    ],
)
def test_options_out_of_range_are_refused_by_name(
    options: type[BaseModel], wrong: dict[str, object]
) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        options.model_validate(wrong)
