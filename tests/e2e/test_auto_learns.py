"""A gateway that begins with nothing learns which technique pays for which kind of request."""

from __future__ import annotations

import numpy as np
import pytest

from bench.router.end_to_end import (
    Compared,
    Proof,
    Size,
    compared,
    proof,
    seeds_of,
    together,
    utilities,
)
from bench.router.workload import KINDS, prompts

SMALL = Size(learnt=240, judged=25, answers=1, refresh=20)


async def test_a_gateway_learns_of_its_own_traffic_and_keeps_to_its_budget() -> None:
    found = await proof(SMALL, seed=1)

    above = {rival.name: rival.above for rival in found.rivals}
    assert above["at random"] > 30
    assert 0 < found.explored_usd <= found.budget_usd


@pytest.mark.parametrize(
    ("low", "spent", "holds"), [(0.1, 1.0, True), (0.1, 1.001, False), (0.0, 1.0, False)]
)
def test_what_is_overspent_or_not_above_all_others_is_no_proof(
    low: float, spent: float, *, holds: bool
) -> None:
    rivals = [Compared("a", 80.0, 9.0, 5.0, 13.0), Compared("b", 88.0, 1.0, low, 2.0)]
    assert Proof(89.0, rivals, {}, spent, 1.0, 9).holds is holds


def test_several_seeds_are_told_beside_their_nearest_rivals() -> None:
    rivals = [Compared("a", 80.0, 9.0, 5.0, 13.0), Compared("b", 86.0, 3.0, 1.0, 5.0)]
    behind = [Compared("a", 80.0, -1.0, -3.0, 1.0)]
    found = {
        4: Proof(89.0, rivals, {}, 0.5, 1.0, 9),
        5: Proof(79.0, behind, {}, 0.5, 1.0, 9),
    }

    told = together(found).splitlines()

    assert list(seeds_of("4..5")) == [4, 5]
    assert list(seeds_of("7")) == [7]
    assert "| 4 | 89.0 | `b` 86.0 | +3.0 | +1.0 to +5.0 | $0.500 of $1.000 | yes |" in told
    assert "| 5 | 79.0 | `a` 80.0 | -1.0 | -3.0 to +1.0 | $0.500 of $1.000 | no |" in told
    assert told[-1].startswith(
        "It holds for 1 of 2 seeds. Above the nearest, the mean of all: +1.0"
    )


def test_the_workload_has_all_kinds_and_is_the_same_for_a_seed() -> None:
    first, again = list(prompts(40, 3)), list(prompts(40, 3))

    assert [one.body for one in first] == [one.body for one in again]
    often = {kind: sum(one.kind == kind for one in first) for kind in KINDS}
    assert often == {"easy": 16, "hard": 8, "tool": 8, "creative": 8}


def test_answers_are_graded_by_what_is_right() -> None:
    by_kind = {one.kind: one for one in prompts(5, 3)}
    calls = [{"function": {"name": "get_weather", "arguments": '{"city": "Nowhere"}'}}]

    assert by_kind["easy"].grade({"content": "Goodbye."}) == 1
    assert by_kind["easy"].grade({"content": ""}) == 0
    assert by_kind["hard"].grade({"content": "The answer is 1."}) == 0
    assert by_kind["tool"].grade({"tool_calls": calls}) == 0
    assert by_kind["hard"].plain_worth([]) is None


def test_utility_is_points_of_quality_less_what_they_cost_in_plain_calls() -> None:
    points = utilities(np.array([[0.5, 1.0]]), np.array([[0.1, 0.4]]), 0)

    assert points.tolist() == [[50.0, pytest.approx(97.0)]]
    told = compared("x", np.full(50, 3.0), np.full(50, 1.0), 1)
    assert (told.above, told.low, told.high) == (2.0, 2.0, 2.0)
