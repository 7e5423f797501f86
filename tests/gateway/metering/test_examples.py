"""Which request stands behind a bucket, as OpenMetrics tells it."""

from __future__ import annotations

from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest

from gateway.metering.ledger import Fact
from gateway.metering.meters.genai import GenAIMeter
from gateway.metering.trace import Trace
from tests.gateway.metering.facts import request

SECONDS = "gen_ai_server_request_duration_seconds_bucket"


def examples(*facts: Fact) -> dict[str, str]:
    """Return the examples of the buckets of durations, by their upper bound."""
    registry = CollectorRegistry()
    GenAIMeter(registry)(facts)
    found = {}
    for line in generate_latest(registry, version="1.0.0").decode().splitlines():
        if line.startswith(SECONDS) and " # " in line:
            found[line.partition('le="')[2].partition('"')[0]] = line.partition(" # ")[2]
    return found


def test_a_bucket_tells_the_last_request_that_fell_into_it() -> None:
    found = examples(
        request(request_id="a", seconds=0.3),
        request(request_id="b", seconds=0.31),
        request(request_id="c", seconds=3.0),
    )

    assert [told.split()[0] for told in found.values()] == [
        '{request_id="b"}',
        '{request_id="c"}',
    ]
    assert [told.split()[1] for told in found.values()] == ["0.31", "3.0"]


def test_a_request_of_a_trace_that_is_written_down_is_found_by_it() -> None:
    trace = Trace("5" * 32, "6" * 16)

    (kept,) = examples(request(request_id="a", trace=trace)).values()
    (passed_on,) = examples(request(request_id="a", trace=trace._replace(sampled=False))).values()

    assert kept.startswith(f'{{trace_id="{"5" * 32}"}}')
    assert passed_on.startswith('{request_id="a"}')
