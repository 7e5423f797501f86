from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import BaseModel, ValidationError

from techniques.catalog.diversity_combining import (
    EqualGain,
    MaximalRatio,
    SureRatio,
    diversity_egc,
    diversity_mrc,
    diversity_mrc_soft,
)
from techniques.core.channel import Technique
from techniques.core.errors import UpstreamFailed
from techniques.core.request import Request, ResponseFormat, Sampling, Tool
from techniques.testing import ScriptedChannel
from tests.techniques.drafts import BOTH, DEEP, SALT, SEA
from tests.techniques.pools import FINE, drawers, judged, writing
from tests.techniques.scene import (
    Answer,
    Cap,
    Played,
    Setting,
    asks,
    calls,
    draws,
    play,
    scripted,
    shown,
    tokens,
)

DOWN = UpstreamFailed("down", "server", retryable=True)
OLD = "The sea is old. It was there before the land. Much of it was never seen."
STREAMED = replace(SEA, stream=True)
ALL: list[tuple[Technique, type[BaseModel]]] = [
    (diversity_mrc, MaximalRatio),
    (diversity_egc, EqualGain),
    (diversity_mrc_soft, SureRatio),
]
each_technique = pytest.mark.parametrize(("technique", "options"), ALL)


async def run(
    technique: Technique,
    options: BaseModel,
    channel: ScriptedChannel,
    request: Request = SEA,
    pool: int = 3,
) -> Played:
    return await play(technique, judged(channel, pool), request, Setting(options))


@each_technique
async def test_one_answer_is_made_of_what_each_model_says(
    technique: Technique, options: type[BaseModel]
) -> None:
    request = replace(SEA, sampling=Sampling(temperature=0.9))
    played = await run(technique, options(), draws([DEEP, SALT, OLD], writing(BOTH)), request)
    assert played.text == BOTH
    assert drawers(played) == {"c0": "model-0", "c1": "model-1", "c2": "model-2"}
    candidates = [one for one in played.asked if one.role == "candidate"]
    assert {one.sampling.temperature for one in candidates} == {0.9}
    (synthesis,) = [one for one in played.asked if one.role == "synthesis"]
    assert all(text in shown(synthesis) for text in (DEEP, SALT, OLD))


@pytest.mark.parametrize(
    ("technique", "options", "request_", "most"),
    [
        (diversity_mrc, MaximalRatio(), SEA, 2 * 3 + 1 + 2),
        (diversity_mrc, MaximalRatio(), STREAMED, 2 * 3 + 1),
        (diversity_mrc, MaximalRatio(guard="cheap"), SEA, 2 * 3 + 1),
        (diversity_egc, EqualGain(), SEA, 3 + 1),
        (diversity_egc, EqualGain(), STREAMED, 3 + 1),
        (diversity_egc, EqualGain(guard="full"), SEA, 3 + 1 + 2),
        (diversity_mrc_soft, SureRatio(), SEA, 3 + 1),
        (diversity_mrc_soft, SureRatio(guard="full"), SEA, 3 + 1 + 2),
    ],
)
async def test_it_takes_as_many_calls_as_its_card_says(
    technique: Technique, options: BaseModel, request_: Request, most: int
) -> None:
    played = await run(technique, options, draws([DEEP, SALT, OLD], writing(BOTH)), request_)
    assert (played.text, len(played.asked)) == (BOTH, most)


@each_technique
async def test_models_that_agree_need_neither_judge_nor_writer(
    technique: Technique, options: type[BaseModel]
) -> None:
    played = await run(technique, options(), draws(["42", "It is 42.", "42"]), asks())
    assert (played.text, len(played.asked)) == ("42", 3)


@each_technique
async def test_the_answer_of_the_only_model_that_gave_one_is_the_answer(
    technique: Technique, options: type[BaseModel]
) -> None:
    played = await run(technique, options(), draws([DOWN, SALT, ""]))
    assert (played.text, len(played.asked)) == (SALT, 3)
    assert played.note("draws")["lost"] == {"empty": 1, "failed": 1}


@each_technique
async def test_with_one_model_it_is_a_plain_call_and_says_so(
    technique: Technique, options: type[BaseModel]
) -> None:
    played = await run(technique, options(), scripted(lambda _request: DEEP), pool=1)
    assert (played.text, played.roles()) == (DEEP, ["answer"])
    assert "technique_masked" in played.warnings


@each_technique
async def test_no_more_models_are_asked_than_wanted(
    technique: Technique, options: type[BaseModel]
) -> None:
    channel = draws([DEEP, SALT], writing(BOTH))
    played = await run(technique, options.model_validate({"channels": 2}), channel, pool=4)
    assert len(drawers(played)) == 2


@each_technique
async def test_where_a_third_declines_it_is_declined(
    technique: Technique, options: type[BaseModel]
) -> None:
    played = await run(technique, options(), draws([DEEP, "I can't help with that.", SALT]))
    assert played.text == "I can't help with that."
    assert "refusal_kept" in played.warnings


@each_technique
async def test_answers_that_were_cut_off_are_no_material(
    technique: Technique, options: type[BaseModel]
) -> None:
    cut = [
        replace(tokens(text, 0.5), finish_reason="length", logprobs=None) for text in (DEEP, SALT)
    ]
    played = await run(technique, options(), draws(cut), pool=2)
    assert (played.text, len(played.asked)) == (DEEP, 2)


@each_technique
async def test_tool_calls_are_chosen_and_never_written(
    technique: Technique, options: type[BaseModel]
) -> None:
    answers: list[Answer] = [
        calls("dive", '{"m": 1}'),
        calls("dive", '{"m": 2}', "x"),
        calls("dive", '{"m": 2}', "y"),
    ]
    request = replace(SEA, tools=(Tool("dive"),))
    played = await run(technique, options(), draws(answers, lambda _request: FINE), request)
    assert played.reply == answers[1]
    assert "synthesis" not in played.roles()


@each_technique
async def test_json_is_written_anew_only_if_wanted(
    technique: Technique, options: type[BaseModel]
) -> None:
    request = replace(SEA, response_format=ResponseFormat("json_object"))
    channel = draws(['{"deep": 1}', '{"deep": 2}'], writing('{"deep": 2, "salt": 1}'))
    played = await run(technique, options(), channel, request, 2)
    assert played.text in {'{"deep": 1}', '{"deep": 2}'}
    anew = options.model_validate({"json_synthesis": True})
    channel = draws(['{"deep": 1}', '{"deep": 2}'], writing('{"deep": 2, "salt": 1}'))
    assert (await run(technique, anew, channel, request, 2)).text == '{"deep": 2, "salt": 1}'


@each_technique
async def test_a_cue_is_asked_for_where_answers_are_compared_and_seen_by_nobody(
    technique: Technique, options: type[BaseModel]
) -> None:
    answers: list[Answer] = ["So 42 it is.\nFinal answer: 42", "41\nFinal answer: 41", "42"]
    played = await run(technique, options(), draws(answers, lambda _request: FINE), asks())
    assert "Final answer" in shown(played.asked[0])
    assert "Final answer" not in played.text
    off = options.model_validate({"answer_cue": "off"})
    played = await run(technique, off, draws(answers, lambda _request: FINE), asks())
    assert "Final answer" not in shown(played.asked[0])


@each_technique
async def test_a_cap_asks_fewer_models_or_has_nothing_written(
    technique: Technique, options: type[BaseModel]
) -> None:
    for most in range(4, 8):
        channel = draws([DEEP, SALT, OLD], writing(BOTH))
        setting = Setting(options(), cap=Cap(channel, most))
        played = await play(technique, judged(channel, 3), SEA, setting)
        assert played.text in {DEEP, SALT, OLD, BOTH}
        assert len(played.asked) <= most


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (MaximalRatio, {"channels": 7}),
        (MaximalRatio, {"dominance": 1.1}),
        (EqualGain, {"guard": "none"}),
        (SureRatio, {"softmax_temperature": 0.001}),
    ],
)
def test_options_out_of_range_are_refused_by_name(
    options: type[BaseModel], wrong: dict[str, object]
) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        options.model_validate(wrong)
