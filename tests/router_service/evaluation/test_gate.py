from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from router_service.evaluation.comparing import comparisons
from router_service.evaluation.gate import Mode, Outcome, Rule, Verdict, exit_code
from router_service.evaluation.samples import METRICS, Metric
from router_service.evaluation.statistics.distributions import Numbers
from tests.router_service.evaluation.tables import pair, table

QUALITY, COST, ERRORS = METRICS["quality"], METRICS["cost"], METRICS["error_rate"]
MODES: tuple[Mode, ...] = ("regression", "noninferiority")


def _judged(rule: Rule, base: Numbers, other: Numbers, seed: int = 0) -> Verdict:
    found = table({rule.metric.name: {"base": base, "other": other}})
    return comparisons(found, [rule], seed)[1][0]


@pytest.mark.parametrize("mode", MODES)
def test_a_regression_of_six_points_is_blocked_200_times_of_200(
    mode: Mode, dice: np.random.Generator
) -> None:
    rule, blocked = Rule(QUALITY, 0.02, mode), 0
    for seed in range(200):
        base = dice.uniform(0.3, 0.9, 100)
        blocked += (
            _judged(rule, base, base + dice.normal(-0.06, 0.05, 100), seed).outcome == "block"
        )
    assert blocked == 200


@pytest.mark.parametrize("mode", MODES)
def test_a_gain_of_six_points_passes_always(mode: Mode, dice: np.random.Generator) -> None:
    rule = Rule(QUALITY, 0.02, mode)
    for seed in range(40):
        base = dice.uniform(0.3, 0.9, 100)
        assert _judged(rule, base, base + dice.normal(0.06, 0.05, 100), seed).outcome == "pass"


@pytest.mark.parametrize("mode", MODES)
def test_no_difference_is_hardly_ever_blocked(mode: Mode, dice: np.random.Generator) -> None:
    rule = Rule(QUALITY, 0.02, mode)
    outcomes = []
    for seed in range(100):
        base = dice.uniform(0.3, 0.9, 100)
        outcomes.append(_judged(rule, base, base + dice.normal(0, 0.05, 100), seed).outcome)
    assert outcomes.count("block") == 0
    assert outcomes.count("pass") >= 95


@pytest.mark.parametrize("mode", MODES)
def test_a_loss_that_may_be_chance_neither_passes_nor_blocks(mode: Mode) -> None:
    apart = np.array([0.5, -0.5] * 6 + [-0.6])
    base = np.full(13, 0.6)
    found = _judged(Rule(QUALITY, 0.02, mode), base, base + apart)
    assert (found.outcome, "underpowered" in found.why) == ("unknown", True)


def test_noninferiority_fails_closed_where_too_little_was_asked() -> None:
    apart = np.array([0.3, -0.3] * 6)
    found = _judged(Rule(QUALITY, 0.02, "noninferiority"), np.full(12, 0.6), 0.6 + apart)
    assert (found.outcome, "underpowered" in found.why) == ("unknown", True)


def test_a_pass_says_if_a_loss_could_have_been_missed() -> None:
    apart = np.array([0.3, -0.3] * 6)
    found = _judged(Rule(QUALITY, 0.02), np.full(12, 0.6), 0.6 + apart)
    assert (found.outcome, "could have been missed" in found.why) == ("pass", True)


@pytest.mark.parametrize(("factor", "outcome"), [(1.3, "block"), (1.05, "pass"), (0.5, "pass")])
def test_costs_are_told_as_shares_and_more_is_worse(
    factor: float, outcome: Outcome, dice: np.random.Generator
) -> None:
    base = dice.uniform(0.001, 0.004, 60)
    other = factor * base * dice.uniform(0.95, 1.05, 60)
    found = _judged(Rule(COST, 0.10), base, other)
    assert found.outcome == outcome
    assert found.evidence.gain is not None
    assert found.evidence.gain.mean == pytest.approx(1 - factor, abs=0.03)


def test_what_is_not_known_of_most_prompts_is_no_evidence() -> None:
    base = np.full(40, 0.002)
    other = np.where(np.arange(40) < 30, 0.002, np.nan)
    found = _judged(Rule(COST, 0.1), base, other)
    assert (found.outcome, "75%" in found.why) == ("unknown", True)


@pytest.mark.parametrize("base", [0.0, float("nan")])
def test_a_cost_of_nothing_or_unknown_is_no_measure(base: float) -> None:
    found = _judged(Rule(COST, 0.1), np.full(40, base), np.full(40, 0.01))
    assert found.outcome == "unknown"


def test_where_nothing_ever_failed_nothing_got_worse() -> None:
    assert _judged(Rule(ERRORS, 0.02), np.zeros(20), np.zeros(20)).outcome == "pass"


@pytest.mark.parametrize("metric", [QUALITY, ERRORS])
@pytest.mark.parametrize("units", [1, 2, 12, 30, 182, 183, 400])
def test_few_prompts_without_a_difference_rule_no_small_loss_out(
    metric: Metric, units: int
) -> None:
    same = np.ones(units) if metric is QUALITY else np.zeros(units)
    found = _judged(Rule(metric, 0.02, "noninferiority"), same, same)
    once_in_forty = 0.98**units <= 0.025  # so often is a loss of 0.02 not seen
    assert found.outcome == ("pass" if once_in_forty else "unknown")
    assert _judged(Rule(metric, 0.02, guard=True), same, same).outcome == "pass"


@pytest.mark.parametrize("units", [2, 5, 6, 40])
@pytest.mark.parametrize(("base", "other", "outcome"), [(1.0, 0.0, "block"), (0.0, 1.0, "pass")])
def test_a_difference_that_never_varied_is_no_more_sure_than_its_test(
    units: int, base: float, other: float, outcome: Outcome
) -> None:
    rule = Rule(QUALITY, 0.02, "noninferiority")
    found = _judged(rule, np.full(units, base), np.full(units, other))
    assert found.outcome == (outcome if units >= 6 else "unknown")


def test_documents_without_a_difference_count_once() -> None:
    values = {"error_rate": {"a": np.zeros(400), "b": np.zeros(400)}}
    rule = Rule(ERRORS, 0.02, "noninferiority")
    grouped = comparisons(table(values, np.repeat(np.arange(10.0), 40)), [rule], 0)[1][0]
    assert grouped.outcome == "unknown"
    assert grouped.evidence.gain is not None
    assert grouped.evidence.gain.units == 10


def test_one_prompt_of_as_many_calls_is_too_few_too() -> None:
    rule = Rule(METRICS["calls"], 0.02, "noninferiority")
    assert _judged(rule, np.ones(1), np.ones(1)).outcome == "unknown"
    assert _judged(rule, np.ones(2), np.ones(2)).outcome == "pass"


def test_a_guard_blocks_but_never_holds_up() -> None:
    base = np.zeros(40)
    failing = (np.arange(40) < 10).astype(float)
    assert _judged(Rule(ERRORS, 0.02, guard=True), base, failing).outcome == "block"
    few = (np.arange(40) < 1).astype(float)
    assert _judged(Rule(ERRORS, 0.02, guard=True), base, few).outcome == "pass"


def test_one_prompt_is_too_few() -> None:
    found = _judged(Rule(QUALITY, 0.02), np.array([1.0]), np.array([0.0]))
    assert found.outcome == "unknown"


def test_a_baseline_that_never_answered_proves_nothing() -> None:
    found = table({"quality": {"base": np.zeros(20), "other": np.ones(20)}})
    failed = replace(found, pairs={**found.pairs, "base": [pair(0.0, error="gone")] * 20})
    assert comparisons(failed, [Rule(QUALITY, 0.02)], 0)[1][0].outcome == "unknown"


def test_each_rule_is_a_hypothesis_among_all() -> None:
    values = {"quality": {"base": np.zeros(9), "other": np.array([1.0] * 6 + [0.0] * 3)}}
    alone, with_rule = (
        comparisons(table(values), rules, 0)[0][0] for rules in ([], [Rule(ERRORS, 0)])
    )
    assert alone.adjusted_p == alone.tested.p
    both = comparisons(table(values), [Rule(QUALITY, 0)], 0)[0][0]
    assert both.adjusted_p > alone.adjusted_p
    assert with_rule.adjusted_p == alone.adjusted_p  # nothing was measured for that rule


def test_documents_are_the_units_of_every_test() -> None:
    documents = np.repeat(np.arange(5.0), 8)
    base = np.zeros(40)
    other = np.where(documents < 3, 1.0, 0.0)
    alone = comparisons(table({"quality": {"a": base, "b": other}}), [], 0)[0][0]
    grouped = comparisons(table({"quality": {"a": base, "b": other}}, documents), [], 0)[0][0]
    assert (alone.tested.test, grouped.tested.test) == ("McNemar", "sign flips")
    assert alone.tested.p < 1e-6 < 0.2 < grouped.tested.p
    assert alone.difference.mean == grouped.difference.mean == 0.6
    assert grouped.difference.units == 5


@pytest.mark.parametrize(
    ("outcomes", "missing", "code"),
    [
        (["pass", "pass"], 0, 0),
        (["pass", "unknown"], 0, 2),
        (["unknown", "block"], 0, 1),
        (["pass"], 3, 2),
        (["block"], 3, 1),
        ([], 0, 2),
    ],
)
def test_the_exit_code_is_that_of_the_worst(
    outcomes: list[Literal["pass", "block", "unknown"]], missing: int, code: int
) -> None:
    one = _judged(Rule(QUALITY, 0.02), np.ones(3), np.ones(3))
    verdicts = [replace(one, outcome=outcome) for outcome in outcomes]
    assert exit_code(verdicts, complete=not missing) == code


def test_noninferiority_lets_a_loss_of_the_margin_pass_once_in_forty(
    dice: np.random.Generator,
) -> None:
    rule, passed = Rule(QUALITY, 0.1, "noninferiority"), 0
    for seed in range(200):
        base = dice.uniform(0.3, 0.9, 60)
        passed += _judged(rule, base, base + dice.normal(-0.1, 0.15, 60), seed).outcome == "pass"
    assert passed <= 12
