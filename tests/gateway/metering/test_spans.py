"""What of a request and its calls is said in a trace, and what never is."""

from __future__ import annotations

import pytest

from gateway.metering.meters.spans import batch, spans_of
from gateway.metering.trace import Trace
from pricing.usage import Usage
from techniques.core.events import Warned
from techniques.core.json import Json, JsonObject
from tests.gateway.metering.facts import request, row

TRACE = Trace("5" * 32, "6" * 16, "7" * 16, at=1_764_000_000.25)


def told(span: JsonObject) -> dict[str, Json]:
    """Return the attributes of *span* by their names."""
    return {one["key"]: next(iter(one["value"].values())) for one in span["attributes"]}


def test_each_call_is_a_span_within_that_of_its_request() -> None:
    rows = (row(span="a" * 16), row(span="b" * 16, role="judge", step="j0"))

    whole, *calls = spans_of(request(trace=TRACE, rows=rows, technique="harq_ir"))

    assert {span["traceId"] for span in (whole, *calls)} == {TRACE.trace_id}
    assert (whole["spanId"], whole["parentSpanId"]) == (TRACE.span_id, TRACE.parent)
    assert [span["spanId"] for span in calls] == ["a" * 16, "b" * 16]
    assert {span["parentSpanId"] for span in calls} == {TRACE.span_id}
    assert [span["kind"] for span in (whole, *calls)] == [2, 3, 3]
    assert [told(span)["lockgate.role"] for span in calls] == ["answer", "judge"]
    assert told(whole)["lockgate.technique"] == "harq_ir"


def test_a_call_tells_what_it_used_and_cost_and_how_it_was_let_through() -> None:
    used = row(span="a" * 16, usage=Usage(100, 20, cache_read_tokens=40), cost=25 * 10**10)
    held = used._replace(held_s=1.5, cost=None, cost_source="unknown", outcome="timeout")

    _, went, waited = spans_of(request(trace=TRACE, rows=(used, held)))

    assert told(went) | {
        "gen_ai.usage.input_tokens": "100",
        "gen_ai.usage.output_tokens": "20",
        "lockgate.tokens.cache_read": "40",
        "lockgate.cost_usd": 0.25,
        "lockgate.cost_source": "operator",
        "lockgate.verdict": "go",
    } == told(went)
    assert (told(waited)["lockgate.verdict"], told(waited)["lockgate.held_ms"]) == ("hold", 1500.0)
    assert "lockgate.cost_usd" not in told(waited)
    assert (went["status"], waited["status"]) == ({"code": 1}, {"code": 2, "message": "timeout"})


def test_times_are_those_of_the_facts() -> None:
    whole, call = spans_of(request(trace=TRACE, rows=(row(span="a" * 16),), seconds=2.5))

    assert whole["startTimeUnixNano"] == "1764000000250000000"
    assert whole["endTimeUnixNano"] == "1764000002750000000"
    assert call["startTimeUnixNano"] == "1764000000500000000"
    assert call["endTimeUnixNano"] == "1764000000750000000"


def test_the_cost_of_a_request_is_told_only_if_that_of_all_its_calls_is_known() -> None:
    def cost(*costs: int | None) -> Json:
        rows = tuple(row(cost=one) for one in costs)
        return told(spans_of(request(trace=TRACE, rows=rows))[0]).get("lockgate.cost_usd")

    assert cost(10**12, 5 * 10**11) == 1.5
    assert cost(10**12, None) is None
    assert cost() == 0


def test_a_request_that_failed_says_by_what() -> None:
    (whole,) = spans_of(request(trace=TRACE, rows=(), outcome="denied", code="budget_exhausted"))

    assert whole["status"] == {"code": 2, "message": "budget_exhausted"}
    assert told(whole)["error.type"] == "budget_exhausted"


def test_of_a_warning_only_its_code_is_told() -> None:
    warnings = (Warned("field_dropped", "SECRET"), Warned("field_dropped", "other"))

    (whole,) = spans_of(request(trace=TRACE, rows=(), warnings=warnings))

    assert told(whole)["lockgate.warnings"] == {"values": [{"stringValue": "field_dropped"}]}
    assert "SECRET" not in str(whole)


@pytest.mark.parametrize("trace", [None, TRACE._replace(sampled=False)])
def test_what_is_not_to_be_written_down_is_no_span(trace: Trace | None) -> None:
    assert spans_of(request(trace=trace, rows=(row(span="a" * 16),))) == []


def test_a_call_that_stands_in_no_trace_is_no_span() -> None:
    assert len(spans_of(request(trace=TRACE, rows=(row(),)))) == 1


def test_a_message_says_who_sends_it() -> None:
    (message,) = batch([{"name": "x"}], {"service.name": "lockgate"})["resourceSpans"]

    assert message["resource"]["attributes"] == [
        {"key": "service.name", "value": {"stringValue": "lockgate"}}
    ]
    assert message["scopeSpans"][0]["spans"] == [{"name": "x"}]


@pytest.mark.parametrize(
    ("dialect", "role", "whole", "call"),
    [
        ("openai_chat", "answer", "chat", "chat"),
        ("anthropic", "count", "chat", "count_tokens"),
        ("openai_embeddings", "embedding", "embeddings", "embeddings"),
        ("ollama_embed", "embedding", "embeddings", "embeddings"),
        ("openai_completions", "answer", "text_completion", "chat"),
    ],
)
def test_spans_are_named_by_what_was_asked_for(
    dialect: str, role: str, whole: str, call: str
) -> None:
    made = spans_of(request(trace=TRACE, dialect=dialect, rows=(row(span="a" * 16, role=role),)))

    assert [told(span)["gen_ai.operation.name"] for span in made] == [whole, call]
    assert [span["name"].split()[0] for span in made] == [whole, call]


def test_a_request_for_embeddings_that_was_refused_is_named_so_too() -> None:
    (whole,) = spans_of(request(trace=TRACE, dialect="openai_embeddings", rows=()))

    assert told(whole)["gen_ai.operation.name"] == "embeddings"
