from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import BaseModel, ValidationError

from techniques.catalog.diversity_selection import (
    OncePerModel,
    Selection,
    diversity_sc,
    diversity_sc_N,
)
from techniques.core.errors import UpstreamFailed
from techniques.core.request import Request, Sampling, Tool
from techniques.testing import ScriptedChannel
from tests.techniques.pools import FINE, WRONG, drawers, judged, liking
from tests.techniques.scene import (
    Answer,
    Cap,
    Played,
    Setting,
    asks,
    calls,
    draws,
    play,
    prefers,
    scripted,
    shown,
    tokens,
)

DOWN = UpstreamFailed("down", "server", retryable=True)


async def once(channel: ScriptedChannel, pool: int = 3, request: Request | None = None) -> Played:
    return await play(
        diversity_sc, judged(channel, pool), request or asks("hi"), Setting(OncePerModel())
    )


async def test_each_model_answers_once_as_the_client_asks() -> None:
    request = asks("hi", sampling=Sampling(temperature=0.1))
    played = await once(draws(["A1", "B2", "C3"], liking("C3")), request=request)
    assert played.text == "C3"
    assert drawers(played) == {"c0": "model-0", "c1": "model-1", "c2": "model-2"}
    candidates = [one for one in played.asked if one.role == "candidate"]
    assert {one.sampling.temperature for one in candidates} == {0.1}


async def test_all_models_are_asked_even_if_the_first_is_good_enough() -> None:
    played = await once(draws(["A1", "B2", "C3"], liking("A1")))
    assert played.text == "A1"
    assert len(drawers(played)) == 3


async def test_no_more_models_are_asked_than_wanted() -> None:
    channel = draws(["A1", "B2"], liking("B2"))
    setting = Setting(OncePerModel(channels=2))
    played = await play(diversity_sc, judged(channel, 4), asks("hi"), setting)
    assert (played.text, len(drawers(played))) == ("B2", 2)


async def test_as_good_answers_are_compared_side_by_side() -> None:
    def judge(request: Request) -> Answer:
        text = shown(request)
        if "answer 2>>" not in text:
            return FINE
        return prefers("1" if text.index("B2") < text.index("A1") else "2")

    assert (await once(draws(["A1", "B2"], judge), pool=2)).text == "B2"


@pytest.mark.parametrize(
    ("costs", "text"),
    [((1.0, 0.2), "B2"), ((1.0, 3.0), "A1"), ((1.0, None), "A1"), ((None, 0.2), "A1")],
)
async def test_of_two_that_are_as_good_the_cheaper_models_is_given(
    costs: tuple[float | None, float | None], text: str
) -> None:
    def judge(request: Request) -> Answer:
        return prefers("tie") if "answer 2>>" in shown(request) else FINE

    models = judged(draws(["A1", "B2"], judge), 2)
    pool = tuple(replace(one, cost=cost) for one, cost in zip(models.pool, costs, strict=True))
    models = replace(models, primary=pool[0], pool=pool)
    played = await play(diversity_sc, models, asks("hi"), Setting(OncePerModel()))
    assert played.text == text


async def test_a_model_that_fails_leaves_the_others() -> None:
    played = await once(draws([DOWN, "B2", ""], liking("B2")))
    assert played.text == "B2"
    assert played.note("scores")["lost"] == {"empty": 1, "failed": 1}


async def test_with_one_model_selection_is_a_plain_call_and_says_so() -> None:
    played = await once(scripted(lambda _request: "42"), pool=1)
    assert (played.text, played.roles()) == ("42", ["answer"])
    assert "technique_masked" in played.warnings


async def test_a_cap_asks_fewer_models() -> None:
    channel = draws(["A1", "B2", "C3"], liking("B2"))
    setting = Setting(OncePerModel(), cap=Cap(channel, 4))
    played = await play(diversity_sc, judged(channel, 3), asks("hi"), setting)
    assert (played.text, len(drawers(played))) == ("B2", 2)


async def test_token_probabilities_that_the_client_wants_are_those_of_the_answer() -> None:
    chosen = tokens("B2", 0.9)
    request = asks("hi", sampling=Sampling(logprobs=True))
    played = await once(draws(["A1", chosen], liking("B2")), pool=2, request=request)
    assert played.reply == chosen


async def test_a_tool_call_can_be_the_best_answer() -> None:
    answers: list[Answer] = ["It is noon.", calls("time", "{}")]
    request = asks("hi", tools=(Tool("time"),))
    played = await once(draws(answers, liking("calls time")), pool=2, request=request)
    assert played.reply == answers[1]


async def test_selecting_stops_at_an_answer_that_is_good_enough() -> None:
    channel = draws(["A1", "B2"], liking("B2"))
    played = await play(diversity_sc_N, judged(channel), asks("hi"), Setting(Selection()))
    assert (played.text, len(drawers(played))) == ("B2", 2)


@pytest.mark.parametrize("pool", [1, 2])
async def test_one_model_draws_alone_with_a_warning(pool: int) -> None:
    channel = draws(["42"] * 5, lambda _request: FINE)
    played = await play(diversity_sc_N, judged(channel, pool), asks(), Setting(Selection()))
    assert played.text == "42"
    assert ("one_model" in played.warnings) == (pool == 1)


async def test_models_draw_in_turn_each_time_with_a_seed_of_its_own() -> None:
    channel = draws(["1", "2", "3", "4", "5"], lambda _request: WRONG)
    setting = Setting(Selection(stop_at=1, expected_improvement=False))
    played = await play(diversity_sc_N, judged(channel), asks(), setting)
    assert drawers(played) == {f"c{place}": f"model-{place % 2}" for place in range(5)}
    candidates = [one for one in played.asked if one.role == "candidate"]
    assert len({one.sampling.seed for one in candidates}) == 5


@pytest.mark.parametrize(
    ("options", "wrong"), [(OncePerModel, {"channels": 7}), (Selection, {"num_samples": 17})]
)
def test_options_out_of_range_are_refused_by_name(
    options: type[BaseModel], wrong: dict[str, object]
) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        options.model_validate(wrong)
