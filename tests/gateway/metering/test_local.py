from __future__ import annotations

from prometheus_client import CollectorRegistry

from gateway.metering.meters.local import LocalMeter


def test_what_a_host_tells_is_shown() -> None:
    registry = CollectorRegistry()
    meter = LocalMeter(registry, ["llama"])
    meter.moved("llama", "restore", "restored")
    meter.moved("llama", "save", "disk_short")
    meter.took("llama", "restore", 0.02)
    meter.spared("llama", 230)
    meter.stands("llama", busy=1, idle=3, left=900)

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"lockgate_{name}", {"provider": "llama", **labels})

    assert value("kv_moves_total", what="restore", outcome="restored") == 1
    assert value("kv_moves_total", what="save", outcome="disk_short") == 1
    assert value("kv_moves_total", what="save", outcome="saved") == 0
    assert value("kv_seconds_count", what="restore") == 1
    assert value("prompt_tokens_spared_total") == 230
    assert (value("slots", state="busy"), value("slots", state="idle")) == (1, 3)
    assert value("local_tokens_left") == 900


def test_a_gateway_without_hosts_shows_nothing_of_any() -> None:
    registry = CollectorRegistry()
    LocalMeter(registry, ())

    assert [sample for metric in registry.collect() for sample in metric.samples] == []
