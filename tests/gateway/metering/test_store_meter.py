from __future__ import annotations

from prometheus_client import CollectorRegistry

from gateway.metering.meters.store import StoreMeter


def test_operations_failures_and_drops_are_counted() -> None:
    registry = CollectorRegistry()
    meter = StoreMeter(registry)

    meter.asked("admit", 0.003, "done")
    meter.asked("admit", 0.1, "failed")
    meter.wrote(0.02, "done")
    for dropped in (0, 2, 2, 5):  # what is told is a total
        meter.dropped(dropped)

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"lockgate_{name}", labels)

    assert value("store_seconds_count", store="redis", operation="admit") == 2
    assert value("store_seconds_sum", store="database", operation="write") == 0.02
    assert value("store_errors_total", store="redis", operation="admit") == 1
    assert value("store_errors_total", store="database", operation="write") == 0
    assert value("store_drops_total") == 5
