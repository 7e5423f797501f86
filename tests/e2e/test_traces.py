"""Traces from a client to the provider and to a collector, over real sockets."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from techniques.core.json import Json, JsonObject
from tests.conformance.stage import CHAT, MESSAGES, Stage, chat, messages
from tests.fakes import script
from tests.fakes.client import Exchange, request
from tests.fakes.gateway import Gateway, settings
from tests.fakes.script import Answer
from tests.fakes.upstream import Asked, ScriptedUpstream
from tests.patience import eventually

TRACE: Final = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT: Final = "00f067aa0ba902b7"
WORDS: Final = "words-of-a-prompt-4c1d"


def collects(_asked: Asked) -> Answer:
    return script.body({})


@pytest.fixture(scope="module")
def collector() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as server:
        server.chooses(collects)
        yield server


@pytest.fixture(scope="module")
def traced(
    tmp_path_factory: pytest.TempPathFactory, collector: ScriptedUpstream
) -> Iterator[Stage]:
    folder: Path = tmp_path_factory.mktemp("traced")
    with ScriptedUpstream() as upstream:
        tracing = {
            "otlp": f"http://127.0.0.1:{collector.port}",
            "headers": {"authorization": "Bearer ${OA_KEY}"},
        }
        config = settings(upstream.port, 1, {"tracing": tracing})
        with Gateway(folder, config) as gateway:
            yield Stage(upstream, gateway)


def spans(collector: ScriptedUpstream, trace_id: str) -> list[JsonObject]:
    """Return the spans of a trace that have come."""
    messages = [asked.body["resourceSpans"][0] for asked in collector.asked]
    all_of_them = [span for one in messages for span in one["scopeSpans"][0]["spans"]]
    return [span for span in all_of_them if span["traceId"] == trace_id]


def told(span: JsonObject) -> dict[str, Json]:
    return {one["key"]: next(iter(one["value"].values())) for one in span["attributes"]}


def parents(upstream: ScriptedUpstream) -> list[str | None]:
    return [asked.header("traceparent") for asked in upstream.asked]


def test_a_clients_trace_goes_through_to_the_provider_and_the_collector(
    traced: Stage, collector: ScriptedUpstream
) -> None:
    traced.upstream.forget()
    traced.upstream.chooses(lambda _asked: script.completion())
    began = time.time()

    answer = traced.post(
        CHAT,
        chat(messages=[{"role": "user", "content": WORDS}]),
        headers={"traceparent": f"00-{TRACE}-{PARENT}-01", "x-lockgate-technique": "best_of_n"},
    )

    assert answer.status == 200
    assert eventually(lambda: bool(spans(collector, TRACE)))
    whole, *calls = spans(collector, TRACE)
    assert (whole["parentSpanId"], whole["kind"]) == (PARENT, 2)
    assert len(calls) == len(traced.upstream.asked) > 2
    assert {span["parentSpanId"] for span in calls} == {whole["spanId"]}
    assert sorted(f"00-{TRACE}-{span['spanId']}-01" for span in calls) == sorted(
        str(parent) for parent in parents(traced.upstream)
    )
    roles = {told(span)["lockgate.role"] for span in calls}
    assert {"candidate", "judge"} <= roles
    assert all(told(span)["lockgate.cost_usd"] > 0 for span in calls)
    assert {told(span)["lockgate.verdict"] for span in calls} == {"go"}
    start, end = (int(whole[f"{edge}TimeUnixNano"]) / 1e9 for edge in ("start", "end"))
    assert began - 0.01 <= start <= end <= time.time()
    for span in calls:
        assert start - 0.001 <= int(span["startTimeUnixNano"]) / 1e9
        assert int(span["endTimeUnixNano"]) / 1e9 <= end + 0.001
    sent = b"".join(asked.raw for asked in collector.asked)
    assert WORDS.encode() not in sent
    assert collector.asked[0].header("authorization") == "Bearer sk-canary-openai-c01d"


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_a_request_without_a_trace_begins_one_named_like_it(
    traced: Stage, collector: ScriptedUpstream, path: str
) -> None:
    traced.upstream.forget()
    answer = script.completion() if path == CHAT else script.message()
    traced.upstream.chooses(lambda _asked: answer)

    head = traced.post(path, chat() if path == CHAT else messages(model="an-model")).headers
    name = head["x-lockgate-request-id"]

    assert eventually(lambda: len(spans(collector, name)) == 2)
    whole, call = spans(collector, name)
    assert whole["parentSpanId"] == ""
    assert parents(traced.upstream) == [f"00-{name}-{call['spanId']}-01"]


def test_a_trace_that_its_client_does_not_want_written_down_is_passed_on_only(
    traced: Stage, collector: ScriptedUpstream
) -> None:
    traced.upstream.forget()
    traced.upstream.chooses(lambda _asked: script.completion())
    trace_id = "8" * 32

    traced.post(CHAT, chat(), headers={"traceparent": f"00-{trace_id}-{PARENT}-00"})
    last = traced.post(CHAT, chat()).headers["x-lockgate-request-id"]

    assert eventually(lambda: bool(spans(collector, last)))
    assert spans(collector, trace_id) == []
    first = parents(traced.upstream)[0] or ""
    assert first.startswith(f"00-{trace_id}-")
    assert first.endswith("-00")


def test_a_request_is_found_by_its_trace_from_a_metric(traced: Stage) -> None:
    traced.upstream.chooses(lambda _asked: script.completion())
    name = traced.post(CHAT, chat()).headers["x-lockgate-request-id"]

    accepts = {"accept": "application/openmetrics-text; version=1.0.0"}
    page = (
        Exchange(traced.gateway.port, request("/metrics", None, accepts, "GET"))
        .whole()
        .body.decode()
    )

    assert page.rstrip().endswith("# EOF")
    assert f'# {{trace_id="{name}"}}' in page
