from __future__ import annotations

from random import Random
from typing import get_args

import pytest

from gateway.admission.need.charge import ChargeRule, RuleFit, charge, charged
from gateway.admission.need.traits import Traits
from gateway.admission.need.value import Need
from pricing.usage import Usage

NEED = Need(input=1000, output=200, likely=50, most=4000, cached=600)
STATED = Traits(max_tokens=4000, text_bytes=3200)
OPEN = Traits(text_bytes=3200)
LITTLE = Traits(max_tokens=50, text_bytes=3200)


def held(rule: ChargeRule, traits: Traits) -> tuple[int, int, int]:
    """Return what is held of all tokens, of input and of output."""
    found = charge(rule, NEED, traits)
    assert found["requests"] == 1
    return found["tokens"], found["input_tokens"], found["output_tokens"]


@pytest.mark.parametrize(
    ("rule", "traits", "expected"),
    [
        ("reserve_max", STATED, (5000, 1000, 4000)),
        ("reserve_max", OPEN, (1200, 1000, 200)),
        ("reserve_max", STATED._replace(choices=2), (9000, 1000, 8000)),
        ("unknown", STATED, (5000, 1000, 4000)),
        ("reserve_larger", STATED, (4000, 1000, 4000)),
        ("reserve_larger", LITTLE, (1200, 1000, 200)),
        ("reserve_larger", OPEN, (1200, 1000, 200)),
        ("reserve_larger", OPEN._replace(text_bytes=8000), (2000, 1000, 200)),
        ("actual", STATED, (1200, 1000, 200)),
        ("cached_free", STATED, (600, 400, 200)),
    ],
)
def test_what_a_provider_may_deduct_is_held(
    rule: ChargeRule, traits: Traits, expected: tuple[int, int, int]
) -> None:
    assert held(rule, traits) == expected


USAGE = Usage(900, 100, cache_read_tokens=512)


@pytest.mark.parametrize(
    ("rule", "traits", "expected"),
    [
        ("reserve_max", STATED, (4900, 900, 4000)),
        ("reserve_max", OPEN, (1000, 900, 100)),
        ("unknown", STATED, (4900, 900, 4000)),
        ("reserve_larger", STATED, (4000, 900, 4000)),
        ("reserve_larger", OPEN, (800, 900, 100)),
        ("actual", STATED, (1000, 900, 100)),
        ("cached_free", STATED, (488, 388, 100)),
    ],
)
def test_what_a_provider_has_deducted_is_charged(
    rule: ChargeRule, traits: Traits, expected: tuple[int, int, int]
) -> None:
    found = charged(rule, USAGE, traits)

    assert (found["tokens"], found["input_tokens"], found["output_tokens"]) == expected


@pytest.mark.parametrize("rule", get_args(ChargeRule))
def test_no_more_is_charged_than_was_held_for_a_call_within_its_need(rule: ChargeRule) -> None:
    for traits in (STATED, OPEN):
        before, after = charge(rule, NEED, traits), charged(rule, Usage(1000, 200, 600), traits)

        assert all(after[dimension] <= amount for dimension, amount in before.items())


@pytest.mark.parametrize("rule", ["reserve_max", "reserve_larger", "actual", "cached_free"])
def test_the_rule_is_found_that_explains_what_was_deducted(rule: ChargeRule) -> None:
    fit, chance = RuleFit(), Random(1)

    for seen in range(50):
        assert fit.rule == "unknown", seen
        size = chance.randrange(400, 40_000)
        usage = Usage(size // 5, chance.randrange(400), cache_read_tokens=size // 10)
        traits = Traits(max_tokens=chance.choice([None, 500, 4000]), text_bytes=size)
        fit.record(charged(rule, usage, traits)["tokens"] + chance.gauss(0, 20), usage, traits)

    assert fit.rule == rule


def test_of_rules_that_explain_alike_the_one_that_holds_more_counts() -> None:
    fit = RuleFit()

    for _ in range(50):
        fit.record(100, Usage(80, 20), OPEN._replace(text_bytes=4))

    assert fit.rule == "reserve_max"
