"""Spans on their way to a collector: together, again after a failure, and bounded."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import anyio
import pytest
from structlog.testing import capture_logs

from gateway.config.tracing import TracingConfig
from gateway.metering.trace import Trace
from gateway.tracing import End, Exporter, SpanQueue, tracing
from gateway.upstream.faults import broken, endless
from gateway.upstream.provider import HttpCall
from gateway.upstream.redact import Mask
from techniques.core.errors import UpstreamFailed
from techniques.core.groups import task_group
from tests.gateway.metering.facts import request, row

TRACE = Trace("5" * 32, "6" * 16)


@dataclass
class Answer:
    """What a collector answers."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    closed: bool = False

    async def read(self) -> bytes:
        body, self.body = self.body, b""
        return body

    def wait_until(self, moment: float) -> None:
        pass

    def close(self) -> None:
        self.closed = True


@dataclass
class Collector:
    """A collector that answers in turn, at the end of the list well; None: it cannot be reached."""

    answers: list[Answer | None] = field(default_factory=list)
    calls: list[HttpCall] = field(default_factory=list)
    given: list[Answer] = field(default_factory=list)
    mask: Mask = field(default_factory=lambda: Mask({}))

    async def post(self, call: HttpCall, until: float) -> Answer:
        await anyio.lowlevel.checkpoint()
        self.calls.append(call)
        answer = self.answers.pop(0) if self.answers else Answer()
        if answer is None:
            raise UpstreamFailed("nobody listens", "transport", retryable=True)
        self.given.append(answer)
        return answer

    def sizes(self) -> list[int]:
        """Return how many spans came each time."""
        told = [json.loads(call.body)["resourceSpans"][0] for call in self.calls]
        return [len(one["scopeSpans"][0]["spans"]) for one in told]


class Counted(Counter[End]):
    def __call__(self, end: End, number: int) -> None:
        self[end] += number


def filled(requests: int, most: int = 8192) -> tuple[SpanQueue, Counted]:
    """Return a queue with so many requests of two spans each."""
    counted = Counted()
    queue = SpanQueue(counted, most)
    queue([request(trace=TRACE, rows=(row(span="a" * 16),)) for _ in range(requests)])
    return queue, counted


async def served(queue: SpanQueue, collector: Collector, seconds: float) -> None:
    """Send what is in *queue* for so long, on virtual time."""
    with anyio.move_on_after(seconds):
        await Exporter(queue, collector, {"service.name": "lockgate"}).serve()


async def test_spans_go_together_a_second_later() -> None:
    (queue, counted), collector = filled(3), Collector()

    await served(queue, collector, 0.9)
    assert collector.calls == []

    await served(queue, collector, 5)
    assert collector.sizes() == [6]
    assert collector.calls[0].path == "/v1/traces"
    assert counted == {"sent": 6}
    assert all(answer.closed for answer in collector.given)


async def test_very_many_go_in_messages_of_a_size() -> None:
    (queue, counted), collector = filled(300), Collector()

    await served(queue, collector, 5)

    assert collector.sizes() == [512, 88]
    assert counted["sent"] == 600


@pytest.mark.parametrize("not_now", [None, Answer(503), Answer(429)])
async def test_a_collector_that_is_away_is_asked_again_later_and_nothing_is_lost(
    not_now: Answer | None,
) -> None:
    (queue, counted), collector = filled(1), Collector([not_now] * 3)

    await served(queue, collector, 1 + 1 + 2 + 4 - 0.1)
    assert len(collector.calls) == 3

    await served(queue, collector, 10)
    assert collector.sizes() == [2] * 4
    assert counted == {"sent": 2}


async def test_a_message_that_is_refused_is_given_up_and_counted() -> None:
    (queue, counted), collector = filled(1), Collector([Answer(400)])

    await served(queue, collector, 5)

    assert len(collector.calls) == 1
    assert counted == {"sent": 0, "dropped": 2}


@pytest.mark.parametrize(
    ("body", "dropped"),
    [
        (b'{"partialSuccess": {"rejectedSpans": "1"}}', 1),
        (b'{"partialSuccess": {"rejectedSpans": 99}}', 2),
        (b"not json", 0),
        (b"[]", 0),
        (b'{"partialSuccess": null}', 0),
        (b"", 0),
    ],
)
async def test_what_the_collector_did_not_take_of_a_message_is_counted(
    body: bytes, dropped: int
) -> None:
    (queue, counted), collector = filled(1), Collector([Answer(body=body)])

    await served(queue, collector, 5)

    assert (counted["sent"], counted["dropped"]) == (2 - dropped, dropped)


async def test_what_finds_no_room_is_dropped_and_counted() -> None:
    (queue, counted), collector = filled(3, most=4), Collector()
    assert counted == {"dropped": 2}

    await served(queue, collector, 5)

    assert counted == {"dropped": 2, "sent": 4}


async def test_what_is_left_at_the_end_is_sent_as_far_as_it_is_taken_at_once() -> None:
    (queue, counted), collector = filled(300), Collector([Answer(), None])

    await Exporter(queue, collector, {}).finish()

    assert len(collector.calls) == 2
    assert counted == {"sent": 512}


async def test_a_queue_that_is_empty_waits_for_the_next_request() -> None:
    collector = Collector()
    queue = SpanQueue(Counted())
    async with task_group() as group:
        group.start_soon(Exporter(queue, collector, {}).serve)
        await anyio.sleep(5)
        queue([request(trace=TRACE, rows=())])
        await anyio.sleep(5)
        group.cancel_scope.cancel()

    assert collector.sizes() == [1]


async def test_without_a_collector_nothing_is_kept() -> None:
    async with tracing(TracingConfig(), Counted()) as traces:
        assert traces.begin(f"00-{'5' * 32}-{'6' * 16}-01", "7" * 32) is None
        assert traces.readers == ()


@pytest.mark.parametrize("failed", [broken(None), endless(), UpstreamFailed("The provider left.")])
async def test_a_collector_that_does_not_answer_is_not_called_a_provider(
    failed: UpstreamFailed,
) -> None:
    class Broken(Collector):
        async def post(self, call: HttpCall, until: float) -> Answer:
            await anyio.lowlevel.checkpoint()
            raise failed

    queue, _ = filled(1)
    with capture_logs() as lines:
        await served(queue, Broken(), 5)

    (line,) = [line for line in lines if line["event"] == "traces.held_up"]
    assert "collector" in line["why"]
    assert "provider" not in line["why"]
