"""What techniques cost beside a plain call, and what came of them."""

from __future__ import annotations

import pytest

from gateway.metering.facts import Agreed
from gateway.metering.meters.techniques import TechniqueMeter
from techniques.core.events import Warned
from tests.gateway.metering.counting import Counts
from tests.gateway.metering.facts import request, row

DOLLAR = 10**12


def counts() -> Counts:
    return Counts(lambda registry: TechniqueMeter(registry, ("harq_ir", "self_consistency")))


def test_a_run_is_counted_by_how_it_ended() -> None:
    counted = counts().of(
        request(technique="harq_ir"), request(technique="harq_ir", outcome="deadline"), request()
    )

    assert counted.value("technique_runs_total", technique="harq_ir", outcome="success") == 1
    assert counted.value("technique_runs_total", technique="harq_ir", outcome="deadline") == 1
    assert counted.value("technique_runs_total") == 2


def test_money_is_counted_by_the_part_a_call_played() -> None:
    rows = (row(cost=2 * DOLLAR), row(cost=DOLLAR, role="judge"), row(cost=None, role="judge"))

    counted = counts().of(request(technique="harq_ir", rows=rows))

    assert counted.value("technique_cost_usd_total", technique="harq_ir", role="judge") == 1
    assert counted.value("technique_cost_usd_total", technique="harq_ir") == 3


def test_money_for_calls_that_brought_nothing_is_waste() -> None:
    rows = (row(cost=2 * DOLLAR), row(cost=DOLLAR, outcome="cancelled"))

    counted = counts().of(request(rows=rows))

    assert counted.value("waste_usd_total", technique="none", reason="cancelled") == 1
    assert counted.value("waste_usd_total") == 1


@pytest.mark.parametrize(
    ("costs", "times"),
    [((1, 1, 2), 4.0), ((2, 1), 1.5), ((1,), 1.0), ((0, 1), None), ((1, None), None), ((), None)],
)
def test_a_run_costs_a_multiple_of_the_call_that_was_sent_first(
    costs: tuple[int | None, ...], times: float | None
) -> None:
    rows = [row(cost=cost, started_at=float(at)) for at, cost in enumerate(costs)]

    counted = counts().of(request(technique="harq_ir", rows=tuple(reversed(rows))))

    assert counted.value("technique_cost_multiple_count") == (times is not None)
    assert counted.value("technique_cost_multiple_sum") == (times or 0)


def test_a_plain_call_is_no_multiple_of_anything() -> None:
    assert counts().of(request(technique="none")).value("technique_cost_multiple_count") == 0


def test_how_far_the_votes_agree_is_counted() -> None:
    counted = counts().of(Agreed("self_consistency", 0.8), Agreed("self_consistency", 0.4))

    assert counted.value("technique_agreement_count", technique="self_consistency") == 2
    assert counted.value("technique_agreement_sum") == pytest.approx(1.2)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("technique_failed", "failed"),
        ("technique_replaced", "replaced"),
        ("cap_reached", "cap"),
        ("deadline_reached", "deadline"),
    ],
)
def test_a_technique_that_was_not_carried_out_as_meant_is_a_downgrade(
    code: str, reason: str
) -> None:
    warnings = (Warned(code, "one"), Warned(code, "two"), Warned("fallback", "smart"))

    counted = counts().of(request(technique="harq_ir", warnings=warnings))

    assert counted.value("technique_downgrades_total", technique="harq_ir", reason=reason) == 1
    assert counted.value("technique_downgrades_total") == 1


def test_what_a_plain_call_stands_in_for_is_named_only_if_the_catalogue_has_it() -> None:
    def masked(detail: str) -> tuple[Warned, ...]:
        return (Warned("technique_masked", detail),)

    counted = counts().of(
        request(warnings=masked("harq_ir: n > 1")), request(warnings=masked("made-up: n > 1"))
    )

    assert counted.value("technique_downgrades_total", technique="harq_ir", reason="masked") == 1
    assert counted.value("technique_downgrades_total") == 1


def test_who_chose_the_technique_is_counted() -> None:
    counted = counts()
    assert counted.value("router_decisions_total", by="auto", technique="none") == 0

    counted.of(request(route="auto"), request(route="asked", technique="harq_ir"))

    assert counted.value("router_decisions_total", by="auto", technique="none") == 1
    assert counted.value("router_decisions_total", by="asked", technique="harq_ir") == 1
