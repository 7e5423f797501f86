from __future__ import annotations

from dataclasses import replace

import pytest

from pricing.price import Price
from techniques.core.request import Sampling
from tests.gateway.planning.scene import model
from tests.gateway.routing.scene import FAST, MODELS, Scene, able, asked, question, strong


async def costs(scene: Scene) -> dict[str, float | None]:
    await scene.routed(asked(question("What is 17 * 23?")))
    return {one.arm: one.cost for one in scene.query.offers}


async def test_what_an_arm_is_likely_to_cost_is_told_in_plain_calls() -> None:
    found = await costs(Scene(models=(able(FAST, thinks=True), *MODELS[1:])))

    assert found == {
        "none": 1.0,
        "self_consistency/3": pytest.approx(2.34),
        "self_consistency/5": pytest.approx(3.9),
        "best_of_n/3": 4.5,
        "best_of_n/5": 7.5,
        "harq_ir/2": pytest.approx(1.5 + 1 + 2 / 7),
        "chain_of_verification/3": 6.0,
        "mixture_of_agents": 3.0,
        "self_moa": 4.0,
        "none/-/primary/high": 2.0,
        "none/-/strong": 10.0,
        "cascade": pytest.approx(1.5 + 4.0),
    }


async def test_a_dearer_judge_or_pool_makes_what_asks_it_dearer() -> None:
    dear = Price(100, 100)
    models = (FAST, strong(), model("other", price=dear), model("judge", price=dear))
    found = await costs(Scene(models=models))

    assert found["best_of_n/3"] == pytest.approx(3 + 1.5 * 100)
    assert found["mixture_of_agents"] == pytest.approx(2 + 100)
    assert found["self_consistency/3"] == pytest.approx(2.34)


async def test_where_no_price_is_known_calls_are_counted_for_the_same_model_alone() -> None:
    models = (replace(FAST, price=None), *MODELS[1:])
    scene = Scene(models=models)
    found = await costs(scene)

    assert found["self_consistency/3"] == pytest.approx(2.34)
    assert (found["best_of_n/3"], found["mixture_of_agents"]) == (4.5, 3.0)
    assert scene.query.plain_usd is None
    barred = await scene.masked(asked(question("What is 17 * 23?")))
    assert barred == {"none/-/strong": "price", "cascade": "price"}


async def test_a_model_that_costs_nothing_is_compared_with_none_that_does() -> None:
    nothing = Price(0, 0)
    models = (replace(FAST, price=nothing), strong(), model("other", price=nothing), MODELS[3])
    scene = Scene(models=models)
    barred = await scene.masked(asked(question("What is 17 * 23?")))
    found = {one.arm: one.cost for one in scene.query.offers}

    assert (found["none/-/strong"], barred["none/-/strong"]) == (None, "price")
    assert found["mixture_of_agents"] == 3.0


async def test_a_plain_call_costs_what_its_words_and_its_allowed_answer_do() -> None:
    scene = Scene()
    short = replace(question("What is 17 * 23?"), sampling=Sampling(max_output_tokens=10))
    for request, tokens in ((question("x" * 4000), 1004 + 256), (short, 8 + 10)):
        await scene.routed(asked(request))
        assert scene.query.plain_usd == pytest.approx(tokens / 1e12)
