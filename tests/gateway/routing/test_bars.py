"""Why arms must not be chosen: each reason alone, and no arm without it."""

from __future__ import annotations

import ast
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from gateway.planning.plan import Defaults
from gateway.policy.keys import Caller
from gateway.routing import bars, menu, offers
from router_service.arms import arm_of
from techniques.core.json import Json
from techniques.core.request import (
    Image,
    Message,
    Request,
    ResponseFormat,
    Sampling,
    ThinkingWish,
    Tool,
    said,
)
from tests.gateway.routing.scene import DEFAULTS, FAST, MODELS, Scene, able, asked, strong

TOOL = Tool("look_up", parameters={"type": "object"})
FORM = ResponseFormat("json_schema", {"type": "object"})
SUM = Request("fast", messages=(said("user", "What is 17 * 23?"),))
POEM = Request("fast", messages=(said("user", "Write a haiku about autumn rain."),))
VOTES = {"self_consistency/3", "self_consistency/5"}
BEST = {"best_of_n/3", "best_of_n/5"}
MERGE = {"mixture_of_agents", "self_moa"}
ALL = (*(one for one in MODELS if one.name != "fast"), able(FAST, thinks=True))


async def test_nothing_is_barred_where_everything_is_there() -> None:
    assert await Scene(models=ALL).masked(asked(SUM)) == {}


async def test_at_most_fourteen_arms_are_offered() -> None:
    scene = Scene(models=ALL)
    await scene.routed(asked(SUM))

    offered = [one.arm for one in scene.query.offers]
    assert len(offered) == len(set(offered)) <= 14
    assert {"none", "none/-/primary/high", "none/-/strong", "cascade"} < set(offered)


async def test_what_a_model_cannot_do_is_not_offered() -> None:
    scene = Scene(models=(replace(FAST, stronger=None), *MODELS[1:]))
    await scene.routed(asked(SUM))

    offered = {one.arm for one in scene.query.offers}
    assert not {"none/-/primary/high", "none/-/strong", "cascade"} & offered


@pytest.mark.parametrize(
    ("request_", "reason", "arms"),
    [
        (replace(SUM, tools=(TOOL,)), "tools", {"chain_of_verification/3", *MERGE}),
        (replace(SUM, response_format=FORM), "form", MERGE),
        (POEM, "creative", {*VOTES, "chain_of_verification/3"}),
        (
            replace(SUM, sampling=Sampling(logprobs=True)),
            "logprobs",
            {"harq_ir/2", "chain_of_verification/3", *MERGE},
        ),
        (replace(SUM, thinking=ThinkingWish(effort="low")), "effort", {"none/-/primary/high"}),
    ],
)
async def test_what_a_request_has_bars_what_cannot_keep_it(
    request_: Request, reason: str, arms: set[str]
) -> None:
    assert await Scene(models=ALL).masked(asked(request_)) == dict.fromkeys(arms, reason)


@pytest.mark.parametrize(
    "request_",
    [replace(SUM, sampling=Sampling(n=2)), replace(SUM, extra={"modalities": ["audio", "text"]})],
)
async def test_several_answers_and_sound_are_for_plain_calls(request_: Request) -> None:
    scene = Scene(models=ALL)
    barred = await scene.masked(asked(request_))

    assert {one.arm for one in scene.query.offers if not one.masked} == {"none", "none/-/strong"}
    assert set(barred.values()) <= {"n > 1", "audio"}


async def test_ranked_answers_are_for_techniques_that_rank() -> None:
    barred = await Scene(models=ALL).masked(
        asked(replace(SUM, sampling=Sampling(n=2)), n_policy="rank")
    )

    assert not (VOTES | BEST) & barred.keys()
    assert barred["harq_ir/2"] == "n > 1"


@pytest.mark.parametrize(
    ("defaults", "reason", "arms"),
    [
        (replace(DEFAULTS, judge=None), "judge", {*BEST, "harq_ir/2"}),
        (replace(DEFAULTS, judge="fast"), "judge", {*BEST, "harq_ir/2"}),
        (replace(DEFAULTS, channels=()), "two models", {"mixture_of_agents"}),
        (replace(DEFAULTS, channels=("fast",)), "two models", {"mixture_of_agents"}),
    ],
)
async def test_what_a_technique_needs_must_be_there(
    defaults: Defaults, reason: str, arms: set[str]
) -> None:
    scene = Scene(models=ALL, defaults=defaults)

    assert await scene.masked(asked(SUM)) == dict.fromkeys(arms, reason)


@pytest.mark.parametrize(
    ("can", "barred"),
    [
        ({"logprobs": False}, {"acm_soft": "log-probabilities"}),
        ({"temperature": False}, {"diversity_time": "fixed temperature"}),
    ],
)
async def test_what_the_model_cannot_do_bars_what_needs_it(
    can: dict[str, bool | int], barred: dict[str, str]
) -> None:
    named = ("acm_soft", "diversity_time", "cascade", "self_consistency/3", "exec_bon")
    models = (able(FAST, can), *MODELS[1:])

    found = await Scene(models=models, arms=tuple(map(arm_of, named))).masked(asked(SUM))

    assert found == {**barred, "exec_bon": "tests"}


@pytest.mark.parametrize(
    ("can", "request_", "reason"),
    [
        ({"tools": False}, replace(SUM, tools=(TOOL,)), "tools"),
        ({"json_schema": False}, replace(SUM, response_format=FORM), "form"),
        ({"vision": False}, Request("m", (Message("user", (Image("http://x/y"),)),)), "pictures"),
        ({"context": 2}, SUM, "context"),
    ],
)
async def test_a_stronger_model_must_be_able_to_do_what_is_asked(
    can: dict[str, bool | int], request_: Request, reason: str
) -> None:
    models = (FAST, able(strong(), can), *MODELS[2:])

    assert (await Scene(models=models).masked(asked(request_)))["none/-/strong"] == reason


async def test_a_key_is_offered_what_it_may_use() -> None:
    caller = Caller("k", frozenset({"fast"}), frozenset({"auto", "self_consistency"}))
    scene = Scene(models=ALL)
    barred = await scene.masked(asked(SUM, caller=caller))

    assert {one.arm for one in scene.query.offers if not one.masked} == {"none", *VOTES}
    assert set(barred.values()) == {"key"}


@pytest.mark.parametrize(
    ("wishes", "reason", "arms"),
    [
        ({"max_calls": 4}, "calls", {"best_of_n/5", "best_of_n/3", "chain_of_verification/3"}),
        ({"max_cost_usd": Decimal(1) / 10**9}, "budget", {"none/-/strong"}),
        ({"params": {"stop_at": 0.5}}, "options", {*VOTES, "harq_ir/2", *MERGE}),
    ],
)
async def test_caps_and_options_bar_what_goes_beyond_them(
    wishes: dict[str, Json], reason: str, arms: set[str]
) -> None:
    barred = await Scene(models=ALL).masked(asked(SUM, **wishes))

    assert {barred.get(arm) for arm in arms} == {reason}
    assert "none" not in barred


async def test_money_that_counts_is_not_spent_on_models_without_a_price() -> None:
    models = (replace(FAST, stronger="free"), *MODELS[1:])
    free = {"none/-/free": "price", "cascade": "price"}

    assert await Scene(models=models).masked(asked(SUM)) == free
    budgeted = Caller("k", budgeted=True)
    assert await Scene(models=models).masked(asked(SUM, caller=budgeted)) == free


async def test_what_has_taken_longer_than_the_deadline_is_not_offered() -> None:
    scene = Scene(models=ALL)
    for _ in range(20):
        scene.routing.pace.took("fast", "best_of_n/5", 9.0)
        scene.routing.pace.took("fast", "best_of_n/3", 0.2)

    assert await scene.masked(asked(SUM, deadline_ms=8000)) == {"best_of_n/5": "deadline"}
    assert await scene.masked(asked(SUM, deadline_ms=9500)) == {}
    assert await scene.masked(asked(SUM)) == {}


def test_every_reason_is_in_the_list_of_labels() -> None:
    said_ = {
        node.value
        for module in (bars, menu, offers)
        for call in ast.walk(ast.parse(Path(str(module.__file__)).read_text("utf-8")))
        if isinstance(call, ast.Return | ast.Dict | ast.Assign)
        for node in ast.walk(call)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value
    }

    assert set(bars.REASONS) - said_ <= {"logprobs", "n > 1", "fixed temperature", "audio"} | {
        "response_format"
    }
    assert list(bars.REASONS) == sorted(bars.REASONS)
