from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from techniques import catalog
from techniques.catalog.acm import ByWeights, acm_learned
from techniques.core.errors import UpstreamFailed
from techniques.core.registry import DELEGATED, load
from tests.techniques.delegation import Shop, likely, over
from tests.techniques.scene import Played, Setting, asks, channels, play, scripted

CARDS = load(catalog)
EXAMPLE = (ByWeights.model_fields["weights"].examples or [{}])[0]


def learned(names: list[str], *rows: list[float], **more: Any) -> dict[str, Any]:
    """Weights for bias and difficulty, a column for each of *names*."""
    return {**EXAMPLE, "technique_classes": names, "weights": list(rows), "costs": None, **more}


def options(weights: dict[str, Any], **more: Any) -> ByWeights:
    return ByWeights.model_validate({"weights": weights, **more})


async def delegated(chosen: ByWeights, shop: Shop, probability: float = 0.9) -> Played:
    cards = shop.cards("fast", "slow") | {"baseline": CARDS["baseline"]}
    cards["round"] = shop.card("round", DELEGATED)
    channel = scripted(likely("It is 42.", probability))
    return await play(over(acm_learned, cards), channels(channel), asks(), Setting(chosen))


@pytest.mark.parametrize(("probability", "technique"), [(0.9, "fast"), (0.2, "slow")])
async def test_the_technique_that_is_worth_most_goes_on(probability: float, technique: str) -> None:
    weights = learned(["fast", "slow"], [0.1, 0.0], [0.0, 0.2])

    assert (await delegated(options(weights), Shop(), probability)).text == technique


@pytest.mark.parametrize(("cost_weight", "technique"), [(0, "slow"), (1, "slow"), (3, "fast")])
async def test_what_a_technique_costs_counts_as_much_as_is_asked(
    cost_weight: float, technique: str
) -> None:
    weights = learned(["fast", "slow"], [0.0, 0.1], [0.0, 0.0], costs=[1, 5])
    played = await delegated(options(weights, cost_weight=cost_weight), Shop())

    assert played.text == technique


async def test_unless_it_is_said_cost_counts_as_it_did_in_training() -> None:
    weights = learned(["fast", "slow"], [0.0, 0.1], [0.0, 0.0], costs=[1, 5], lambda_trained=3)

    assert (await delegated(options(weights), Shop())).text == "fast"


async def test_a_technique_that_there_is_not_gives_way_to_the_plain_answer() -> None:
    weights = learned(["telepathy", "fast"], [0.2, 0.1], [0.0, 0.0])
    played = await delegated(options(weights), Shop())

    assert played.text == "It is 42."
    assert played.warnings["technique_replaced"] == "telepathy: there is no such technique"


async def test_one_that_hands_on_itself_gives_way_to_the_next_best() -> None:
    weights = learned(["round", "fast"], [0.2, 0.1], [0.0, 0.0])
    played = await delegated(options(weights), Shop())

    assert played.text == "fast"
    assert "technique_replaced" in played.warnings


async def test_each_technique_may_have_options() -> None:
    shop = Shop()
    weights = learned(["fast"], [0.2], [0.0])
    await delegated(options(weights, dispatch_defaults={"fast": {"size": 4}}), shop)

    assert shop.handed["fast"].task.options.size == 4


async def test_where_the_first_answer_is_lost_the_middle_is_taken_for_the_difficulty() -> None:
    weights = learned(["fast", "slow"], [0.09, 0.0], [0.0, 0.2])
    channel = scripted(lambda _request: UpstreamFailed("down", retryable=True))
    cards = Shop().cards("fast", "slow")
    setting = Setting(options(weights))
    played = await play(over(acm_learned, cards), channels(channel), asks(), setting)

    assert played.text == "slow"


def test_without_weights_there_is_nothing_to_go_by() -> None:
    with pytest.raises(ValidationError, match="weights"):
        ByWeights.model_validate({})
