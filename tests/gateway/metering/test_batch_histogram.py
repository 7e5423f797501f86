"""A histogram that takes many values at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram, generate_latest

from gateway.metering.meters.batch import BatchHistogram

_AMOUNTS = st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 1e9]), max_size=20)


def shown(kind: type[Histogram], amounts: list[float]) -> list[str]:
    registry = CollectorRegistry()
    made = kind("h", "Some.", ("x",), buckets=(1, 2, 3), registry=registry).labels("a")
    if isinstance(made, BatchHistogram):
        made.observe_all(amounts)
    else:
        for amount in amounts:
            made.observe(amount)
    lines = generate_latest(registry).decode().splitlines()
    return [line for line in lines if "_created" not in line]


@given(_AMOUNTS)
def test_many_values_at_once_show_as_they_do_one_by_one(amounts: list[float]) -> None:
    assert shown(BatchHistogram, amounts) == shown(Histogram, amounts)
