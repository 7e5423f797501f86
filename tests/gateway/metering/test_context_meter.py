from __future__ import annotations

from prometheus_client import CollectorRegistry

from gateway.metering.ledger import ContextSlimmed, Fact, SummaryTried
from gateway.metering.meters.context import ContextMeter
from tests.gateway.metering.facts import request


def test_what_was_saved_is_counted_by_how() -> None:
    registry = CollectorRegistry()
    facts: list[Fact] = [
        ContextSlimmed("fast", "oa", "truncate", 900, 500, fresh=True),
        ContextSlimmed("fast", "oa", "truncate", 950, 550, fresh=False),
        SummaryTried("fast", "oa", "pins_lost"),
        request(),
    ]
    ContextMeter(registry)(facts)

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, {"model": "fast", "provider": "oa", **labels})

    assert value("lockgate_context_tokens_saved_total", method="truncate") == 800
    assert value("lockgate_context_slimmed_total", method="truncate", fresh="true") == 1
    assert value("lockgate_context_slimmed_total", method="truncate", fresh="false") == 1
    assert value("lockgate_context_summaries_total", outcome="pins_lost") == 1
