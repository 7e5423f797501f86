from __future__ import annotations

import pytest

from pricing.usage import Usage
from techniques.core.events import UsageReported
from tests.gateway.upstream.openai_chat_bytes import (
    DONE,
    HELLO,
    ROLE,
    bare,
    chunk,
    counted,
    drain,
    frame,
    payloads,
    relaying,
    sent,
)

USAGE = frame(bare(choices=[], usage=counted(10, 5)))


def test_a_client_that_did_not_ask_sees_no_usage_use_01() -> None:
    late = chunk({}, "stop", usage=counted(10, 5))
    events = drain(relaying(), HELLO + late + USAGE + DONE)

    assert UsageReported(Usage(10, 5)) in events
    assert all("usage" not in one and one["choices"] for one in payloads(sent(events)))


@pytest.mark.parametrize("again", [b"", USAGE])
def test_a_client_that_asked_sees_usage_once_right_before_the_end_use_02(again: bytes) -> None:
    data = HELLO + chunk({}, "stop", usage=counted(10, 5)) + again + DONE
    chunks = payloads(sent(drain(relaying(usage=True), data)))

    assert [one.get("usage") for one in chunks] == [None, None, None, None, counted(10, 5)]
    assert chunks[-1]["choices"] == []


def test_usage_is_a_running_total_and_the_last_report_counts_use_03() -> None:
    cached = {**counted(10, 3), "prompt_tokens_details": {"cached_tokens": 8}}
    steps = b"".join(chunk({"content": "a"}, usage=counted(10, n)) for n in (1, 2))
    data = ROLE + steps + chunk({}, "stop", usage=counted(10, 3))
    data += frame(bare(choices=[], usage=cached)) + DONE
    events = drain(relaying(usage=True), data, range(len(data)))
    reports = [event.usage for event in events if isinstance(event, UsageReported)]

    assert reports[-1] == Usage(10, 3, cache_read_tokens=8)
    assert [one["usage"] for one in payloads(sent(events)) if one.get("usage")] == [cached]
