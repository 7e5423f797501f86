from __future__ import annotations

from random import Random

import pytest

from router_service.contract import Observation
from router_service.learning.killswitch import MASK_S, killed, masks

ARM = "self_consistency/5"


def rows(gains: list[float], arm: str = ARM, **changes: object) -> list[Observation]:
    return [
        Observation.model_validate(
            {
                "id": f"{arm}{place:04}",
                "request_id": f"r{place}",
                "at": float(place),
                "model": "m",
                "arm": arm,
                "quality": 0.5 + gain,
                "plain_quality": 0.5,
                **changes,
            }
        )
        for place, gain in enumerate(gains)
    ]


def test_an_arm_that_makes_answers_worse_is_masked_for_a_day() -> None:
    until = killed(rows([-0.1] * 30), now=40.0)

    assert until == {("m", ARM): 29 + MASK_S}
    assert set(masks(until, "m")) == {ARM}
    assert masks(until, "other") == {}


def test_the_mask_ends_after_a_day() -> None:
    worse = rows([-0.1] * 30)

    assert killed(worse, now=29 + MASK_S - 1)
    assert not killed(worse, now=29 + MASK_S)


def test_one_answer_more_that_is_as_bad_masks_it_again() -> None:
    again = rows([-0.1] * 31)
    again[-1] = again[-1].model_copy(update={"at": 200_000.0})

    assert killed(again, now=200_001.0) == {("m", ARM): 200_000.0 + MASK_S}


@pytest.mark.parametrize(
    "harmless",
    [
        rows([-0.1] * 19),
        rows([0.1] * 40),
        rows([0.0] * 40),
        rows([-0.4, 0.45] * 30),
        rows([-0.1] * 40, arm="none"),
        rows([-0.1] * 40, counterfactual=True),
        rows([-0.1] * 40, plain_quality=None),
    ],
    ids=["few", "better", "same", "doubtful", "plain", "replayed", "unpaired"],
)
def test_what_is_not_known_to_harm_is_not_masked(harmless: list[Observation]) -> None:
    assert killed(harmless, now=50.0) == {}


def test_only_the_last_hundred_count() -> None:
    assert killed(rows([-0.2] * 200 + [0.2] * 100), now=260 + MASK_S) == {}
    assert killed(rows([0.2] * 200 + [-0.2] * 100), now=300.0)


def test_all_who_read_the_same_rows_mask_the_same() -> None:
    random = Random(2)
    known = rows([random.gauss(-0.01, 0.05) for _ in range(300)])
    known = [row.model_copy(update={"at": row.at // 10}) for row in known]
    shuffled = random.sample(known, len(known))

    assert killed(known, now=40.0) == killed(shuffled, now=40.0) != {}
