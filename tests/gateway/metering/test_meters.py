from __future__ import annotations

import json

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from gateway.metering.ledger import CallRetried, Fact, RequestBegun
from gateway.metering.meters.genai import GenAIMeter
from gateway.metering.meters.log import log_requests
from gateway.metering.meters.prometheus import OUTCOMES, PrometheusMeter
from gateway.metering.meters.rows import RecentRows
from pricing.usage import Usage
from techniques.core.events import Warned
from techniques.core.json import Json
from tests.gateway.metering.facts import request, row


class Counted:
    """A meter and what it exposes."""

    def __init__(self, *facts: Fact) -> None:
        self._registry = CollectorRegistry()
        self._meters = (
            PrometheusMeter(self._registry, ("fast", "gpt-*")),
            GenAIMeter(self._registry),
        )
        self.count(*facts)

    def count(self, *facts: Fact) -> None:
        for meter in self._meters:
            meter(facts)

    def value(self, name: str, **labels: str) -> float:
        """Return the sum of the samples *name* that have *labels*."""
        return sum(
            sample.value
            for metric in self._registry.collect()
            for sample in metric.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    def series(self) -> set[str]:
        lines = generate_latest(self._registry).decode().splitlines()
        return {line.rpartition(" ")[0] for line in lines if not line.startswith("#")}


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_each_request_is_counted_with_exactly_one_outcome(outcome: str) -> None:
    counted = Counted(RequestBegun("openai_chat"), request(outcome=outcome))

    assert counted.value("lockgate_requests_total") == 1
    assert counted.value("lockgate_requests_total", outcome=outcome, model="fast") == 1
    assert counted.value("gen_ai_server_request_duration_seconds_count") == 1
    assert counted.value("lockgate_requests_in_flight") == 0


def test_every_outcome_has_a_zero_before_the_first_request() -> None:
    counted = Counted()

    for outcome in OUTCOMES:
        series = f'model="fast",outcome="{outcome}",technique="none"'
        assert any(series in line for line in counted.series()), outcome


def test_requests_that_run_are_in_flight() -> None:
    counted = Counted(RequestBegun("anthropic"), RequestBegun("anthropic"))
    assert counted.value("lockgate_requests_in_flight", dialect="anthropic") == 2

    counted.count(request(dialect="anthropic"))
    assert counted.value("lockgate_requests_in_flight", dialect="anthropic") == 1


def test_a_call_is_counted_with_its_tokens_time_and_cost() -> None:
    usage = Usage(
        100,
        50,
        cache_read_tokens=40,
        cache_write_tokens=7,
        cache_write_1h_tokens=3,
        reasoning_tokens=20,
    )
    counted = Counted(row(usage=usage, cost=25 * 10**10, output_cost=10**11, role="judge"))

    for kind, tokens in {
        "input": 100,
        "output": 50,
        "cache_read": 40,
        "cache_write": 10,
        "reasoning": 20,
    }.items():
        assert counted.value("lockgate_tokens_total", type=kind, model="fast") == tokens
    assert counted.value("lockgate_cost_usd_total", role="judge") == pytest.approx(0.25)
    assert counted.value("lockgate_token_cost_usd_total", type="input") == pytest.approx(0.15)
    assert counted.value("lockgate_token_cost_usd_total", type="output") == pytest.approx(0.1)
    assert counted.value("lockgate_upstream_attempts_total", outcome="ok", provider="oa") == 1
    assert counted.value("gen_ai_client_token_usage_sum", gen_ai_token_type="input") == 100
    assert counted.value("gen_ai_client_operation_duration_seconds_sum") == 0.25
    assert counted.value("lockgate_usage_estimated_total") == 0


def test_a_call_that_failed_is_an_attempt_without_tokens() -> None:
    counted = Counted(row(outcome="overloaded", usage=Usage(), cost=0))

    assert counted.value("lockgate_upstream_attempts_total", outcome="overloaded") == 1
    assert (
        counted.value("gen_ai_client_operation_duration_seconds_count", error_type="overloaded")
        == 1
    )
    assert counted.value("gen_ai_client_token_usage_count") == 0
    assert counted.value("lockgate_cost_usd_total") == 0


def test_the_time_a_token_takes_is_told_of_plain_answers_that_came_as_they_were_written() -> None:
    rows = (row(usage=Usage(10, 11)),)
    streamed = request(streamed=True, begun_s=0.5, seconds=1.5, rows=rows)
    counted = Counted(
        streamed,
        streamed._replace(streamed=False),
        streamed._replace(technique="harq_ir"),
        streamed._replace(outcome="truncated"),
        streamed._replace(begun_s=None),
        streamed._replace(rows=(row(usage=Usage(10, 1)),)),
        streamed._replace(rows=()),
    )

    assert counted.value("gen_ai_server_time_per_output_token_seconds_count") == 1
    assert counted.value("gen_ai_server_time_per_output_token_seconds_sum") == pytest.approx(0.1)


def test_asking_for_a_count_is_another_operation_than_chat() -> None:
    counted = Counted(row(role="count"), row())

    for operation in ("chat", "count_tokens"):
        labels = {"gen_ai_operation_name": operation}
        assert counted.value("gen_ai_client_operation_duration_seconds_count", **labels) == 1


def test_what_was_guessed_retried_warned_of_or_cut_short_is_counted() -> None:
    counted = Counted(
        row(estimated=True, cost=None),
        CallRetried("timeout"),
        CallRetried("overloaded", moved=True),
        Warned("fallback", "smart"),
        request(outcome="truncated"),
        request(outcome="client_disconnect", cancel_s=0.004, begun_s=None),
    )

    assert counted.value("lockgate_usage_estimated_total", model="fast") == 1
    assert counted.value("lockgate_retries_total", kind="timeout", next="attempt") == 1
    assert counted.value("lockgate_retries_total", kind="overloaded", next="model") == 1
    assert counted.value("lockgate_warnings_total", code="fallback") == 1
    assert counted.value("lockgate_truncations_total") == 1
    assert counted.value("lockgate_disconnects_total") == 1
    assert counted.value("lockgate_cancel_seconds_sum") == pytest.approx(0.004)


def test_a_technique_is_counted_with_its_calls() -> None:
    counted = Counted(request(technique="self_refine", rows=(row(),) * 4), request())

    assert counted.value("lockgate_technique_calls_sum", technique="self_refine") == 4
    assert counted.value("lockgate_technique_calls_count") == 1


def test_nothing_that_a_client_writes_makes_a_new_series() -> None:
    def facts(odd: str) -> list[Fact]:
        return [
            RequestBegun("openai_chat"),
            row(step=odd),
            Warned("field_dropped", odd),
            request(request_id=odd, run=odd, session=odd, tags=odd, key=odd),
        ]

    counted = Counted(*facts("a"))
    before = counted.series()
    for number in range(50):
        counted.count(*facts(f"client-{number}"))

    assert counted.series() == before
    assert "client-" not in "".join(before)


def test_rows_are_found_by_their_request() -> None:
    rows = RecentRows()
    used = Usage(10, 5, cache_write_tokens=1, cache_write_1h_tokens=2, reasoning_tokens=3)
    rows([row(), request(rows=(row(usage=used, cost=1500), row(cost=None, outcome="timeout")))])

    first, second = rows.rows("r1")
    assert first == {
        "id": "r1.0",
        "request_id": "r1",
        "run": "r1",
        "step": "0",
        "role": "answer",
        "key": "team",
        "team": None,
        "model": "fast",
        "provider": "oa",
        "input_tokens": 10,
        "output_tokens": 5,
        "cache_read_tokens": 0,
        "cache_write_tokens": 3,
        "reasoning_tokens": 3,
        "cost_usd": "0.0000000015",
        "cost_source": "operator",
        "estimated": False,
        "reasoning_estimated": False,
        "outcome": "ok",
        "started_at": "2025-11-24T16:00:00.500000+00:00",
        "ms": 250.0,
        "technique": "none",
        "session": None,
        "tags": None,
        "price": None,
        "caveats": [],
        "cache_write_1h_tokens": 2,
        "audio_input_tokens": 0,
        "audio_output_tokens": 0,
        "image_input_tokens": 0,
        "image_output_tokens": 0,
        "images": 0,
        "cost_tier": "exact_user_rate",
    }
    assert (second["cost_usd"], second["outcome"]) == (None, "timeout")


def test_a_request_is_found_with_its_warnings() -> None:
    rows = RecentRows()
    rows([request(warnings=(Warned("a"), Warned("b", "c")), session="s", tags="t")])

    found = rows.request("r1")

    assert found is not None
    assert (found["outcome"], found["status"], found["warnings"]) == ("success", 200, ["a", "b: c"])
    assert (found["session"], found["tags"], found["ms"]) == ("s", "t", 300.0)


def test_only_the_last_requests_are_kept() -> None:
    rows = RecentRows(most=3)
    for number in range(5):
        rows([request(request_id=str(number))])

    kept = [number for number in range(5) if rows.rows(str(number))]
    assert kept == [2, 3, 4]
    assert rows.request("0") is None


LOGGED = {
    "event": "request.finished",
    "level": "info",
    "request_id": "r1",
    "key": "team",
    "dialect": "openai_chat",
    "model": "fast",
    "technique": "none",
    "streamed": False,
    "outcome": "truncated",
    "status": 200,
    "code": None,
    "calls": 2,
    "providers": ["oa", "other"],
    "failures": ["timeout"],
    "ms": 300.0,
}


def test_a_request_is_one_line_of_facts(capfd: pytest.CaptureFixture[str]) -> None:
    rows = (row(), row(outcome="timeout", provider="other"))
    facts: list[Fact] = [
        RequestBegun("openai_chat"),
        row(),
        request(outcome="truncated", rows=rows, tags="SECRET"),
    ]

    log_requests(facts)

    assert lines(capfd) == [LOGGED]


def lines(capfd: pytest.CaptureFixture[str]) -> list[Json]:
    """Return the lines that were logged, without their time."""
    read = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert all(line.pop("timestamp").endswith("+00:00") for line in read)
    return read


def test_without_a_request_that_ended_nothing_is_logged(capfd: pytest.CaptureFixture[str]) -> None:
    log_requests([RequestBegun("openai_chat"), row()])

    assert capfd.readouterr().err == ""
