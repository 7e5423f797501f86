"""What is counted of routers: choices, why there was none, what must not be chosen."""

from __future__ import annotations

from dataclasses import replace

from gateway.metering.facts import RouterAsked
from gateway.metering.meters.router import RouterMeter
from tests.gateway.metering.counting import Counts

ASKED = RouterAsked("semknn", "harq_ir", explored=False, seconds=0.0015, encode_s=0.0004)


def counts() -> Counts:
    return Counts(lambda registry: RouterMeter(registry, ("harq_ir", "self_consistency")))


def test_a_choice_is_counted_by_the_router_and_the_technique() -> None:
    counted = counts().of(ASKED, replace(ASKED, technique="none", explored=True))

    assert counted.value("router_choices_total", router="semknn", technique="harq_ir") == 1
    assert counted.value("router_choices_total", router="semknn", technique="none") == 1
    assert counted.value("router_explored_total", technique="none") == 1
    assert counted.value("router_explored_total") == 1
    assert counted.value("router_fallbacks_total") == 0


def test_where_there_was_no_choice_the_reason_is_counted() -> None:
    counted = counts()
    assert counted.value("router_fallbacks_total", reason="slow") == 0

    counted.of(replace(ASKED, fallback="slow"))

    assert counted.value("router_fallbacks_total", reason="slow") == 1
    assert counted.value("router_choices_total") == 0


def test_what_must_not_be_chosen_is_counted_and_a_name_of_no_technique_is_one_other() -> None:
    masked = (("harq_ir", "judge"), ("telepathy", "key"), ("crystal_ball", "key"))
    counted = counts().of(replace(ASKED, technique="telepathy", masked=masked))

    assert counted.value("router_masked_total", technique="harq_ir", reason="judge") == 1
    assert counted.value("router_masked_total", technique="other", reason="key") == 2
    assert counted.value("router_choices_total", technique="other") == 1


def test_the_time_that_asking_takes_is_measured_in_all_and_for_the_vector() -> None:
    counted = counts().of(ASKED, ASKED)

    assert counted.value("router_seconds_count", part="all") == 2
    assert counted.value("router_seconds_sum", part="encode") == 0.0008
