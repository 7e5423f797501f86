from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.metering.caps import Caps
from gateway.policy.keys import OPEN, Caller
from gateway.policy.wishes import NOTHING, Wishes
from techniques.core.errors import Denied, UnknownModel
from tests.gateway.planning.scene import call, names, planner

REFINE, VOTE = "self_refine", "self_consistency"
LIMITED = Caller(
    "k", models=frozenset({"fast", "claude-*"}), techniques=frozenset({VOTE}), budgeted=True
)


def test_a_plan_is_never_another_callers() -> None:
    shared = planner()

    assert names(shared.plan(call(), OPEN, Wishes()).models) == ["fast", "smart", "cheap"]
    for _ in range(2):
        assert names(shared.plan(call(), LIMITED, NOTHING).models) == ["fast"]
        assert len(shared.plan(call(), OPEN, NOTHING).models) == 3
        with pytest.raises(Denied):
            shared.plan(call("smart"), LIMITED, NOTHING)
        shared.plan(call("smart"), OPEN, NOTHING)


def test_a_technique_never_hands_on_to_what_is_open_to_another_caller() -> None:
    shared = planner()
    for _ in range(2):
        every = shared.plan(call(), OPEN, Wishes(technique=VOTE)).techniques
        own = shared.plan(call("fast"), LIMITED, Wishes(technique=VOTE)).techniques
        assert own.keys() == {VOTE, "baseline"}
        assert REFINE in every


def test_a_plan_is_never_that_of_other_wishes_or_of_another_model() -> None:
    shared = planner()
    plain = shared.plan(call(), OPEN, NOTHING)

    assert shared.plan(call(), OPEN, Wishes(technique=VOTE)).technique == VOTE
    assert shared.plan(call(), OPEN, NOTHING) == plain
    assert shared.plan(call(f"{VOTE}/fast"), OPEN, NOTHING).technique == VOTE
    assert shared.plan(call("smart"), OPEN, NOTHING).model.name == "smart"


def test_plans_that_are_kept_are_bounded() -> None:
    shared = planner()
    for number in range(3000):
        shared.plan(call(f"claude-{number}"), OPEN, NOTHING)

    assert len(shared.known) <= 1024


def test_a_permitted_model_is_found_by_slug_or_name() -> None:
    shared = planner()

    assert shared.permitted(f"{VOTE}/fast", LIMITED).name == "fast"
    with pytest.raises(Denied):
        shared.permitted("smart", LIMITED)
    with pytest.raises(UnknownModel):
        shared.permitted("nope", OPEN)


def test_a_key_that_has_changed_has_no_plan_from_before() -> None:
    shared = planner()
    before = Caller("k", models=frozenset({"fast", "smart"}), caps=Caps(9))
    shared.plan(call("smart"), before, NOTHING)
    shared.plan(call("fast"), before, NOTHING)

    after = replace(before, models=frozenset({"fast"}), caps=Caps(2))

    with pytest.raises(Denied):
        shared.plan(call("smart"), after, NOTHING)
    assert shared.plan(call("fast"), after, NOTHING).caps.max_calls == 2
    assert shared.plan(call("fast"), before, NOTHING).caps.max_calls == 9
