from __future__ import annotations

import json
from collections.abc import Callable

import orjson
import pytest

from gateway.upstream.provider import Reader
from pricing.usage import Usage
from techniques.core.events import UsageReported
from tests.gateway.upstream.openai_chat_bytes import (
    DONE,
    HELLO,
    ROLE,
    bare,
    chunk,
    counted,
    decoding,
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


FLEX = {"service_tier": "flex"}


def test_how_a_call_was_served_goes_with_its_usage() -> None:
    last = frame(bare(choices=[], usage=counted(10, 5), **FLEX))

    events = drain(relaying(), HELLO + chunk({}, "stop") + last + DONE)

    assert UsageReported(Usage(10, 5), "flex") in events


@pytest.mark.parametrize("reader", [relaying, decoding])
@pytest.mark.parametrize("finish", ["stop", "STOP"])
def test_how_a_whole_answer_was_served_goes_with_its_usage(
    reader: Callable[..., Reader], finish: str
) -> None:
    message = {"role": "assistant", "content": "a"}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    data = orjson.dumps(bare(choices=[choice], usage=counted(10, 5), **FLEX))

    assert UsageReported(Usage(10, 5), "flex") in drain(reader(streamed=False), data)


def test_images_are_counted_apart_where_they_are_told() -> None:
    details = {
        "prompt_tokens_details": {"image_tokens": 7},
        "completion_tokens_details": {"image_tokens": 3},
    }
    last = frame(bare(choices=[], usage={**counted(10, 5), **details}))

    events = drain(decoding(), HELLO + chunk({}, "stop") + last + DONE)

    assert UsageReported(Usage(10, 5, image_input_tokens=7, image_output_tokens=3)) in events


@pytest.mark.parametrize(
    ("told", "charged"),
    [
        ({"cost": 0.00006}, 60_000_000),
        ({"cost": 0}, 0),
        ({"cost": 1}, 10**12),
        ({"cost": 0.1, "is_byok": False, "cost_details": {"upstream_inference_cost": 7}}, 10**11),
        ({"cost": 0.1, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.2}},
         3 * 10**11),
        ({"cost": 0.1, "is_byok": True, "cost_details": None}, None),
        ({"cost": -1}, None),
        ({"cost": 1e9}, None),
        ({"cost": "0.1"}, None),
        ({"cost": True}, None),
        ({"cost": {"total_cost": 0.1}}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_what_a_host_says_that_a_call_costs_goes_with_its_usage(
    told: dict[str, object], charged: int | None
) -> None:
    last = frame(bare(choices=[], usage={**counted(10, 5), **told}))

    for reader in (relaying(), decoding()):
        events = drain(reader, HELLO + chunk({}, "stop") + last + DONE)
        assert UsageReported(Usage(10, 5), charged=charged) in events


IMPOSSIBLE = [-1, 2**32 + 1, 2**63, -(2**70), 10**30, 1e300, "7", True, [], {}]
SOUND = [0, 7, 7.0, 2**32]


def reported(usage: dict[str, object], reader: Reader) -> Usage:
    """Return what *reader* makes of *usage*, which need not be strict JSON."""
    data = json.dumps(bare(choices=[], usage=usage)).encode()
    events = drain(reader, HELLO + chunk({}, "stop") + b"data: " + data + b"\n\n" + DONE)
    return [event.usage for event in events if isinstance(event, UsageReported)][-1]


def placed(name: str, value: object) -> dict[str, object]:
    """Return a usage in which *value* stands at *name*, whose parts have dots between."""
    whole, _, part = name.partition(".")
    return {**counted(10, 5), whole: {part: value} if part else value}


PLACES = [
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "prompt_cache_hit_tokens",
    "prompt_tokens_details.cached_tokens",
    "prompt_tokens_details.cache_write_tokens",
    "prompt_tokens_details.audio_tokens",
    "prompt_tokens_details.image_tokens",
    "completion_tokens_details.reasoning_tokens",
    "completion_tokens_details.audio_tokens",
    "completion_tokens_details.image_tokens",
]


@pytest.mark.parametrize("reader", [relaying, decoding])
@pytest.mark.parametrize("value", IMPOSSIBLE, ids=repr)
@pytest.mark.parametrize("name", PLACES)
def test_a_count_that_none_can_be_marks_the_usage(
    name: str, value: object, reader: Callable[..., Reader]
) -> None:
    assert reported(placed(name, value), reader()).faulty


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None])
@pytest.mark.parametrize("name", PLACES[:2])
def test_a_whole_that_is_no_number_marks_the_usage(name: str, value: object) -> None:
    assert reported(placed(name, value), decoding()).faulty


@pytest.mark.parametrize("value", SOUND)
@pytest.mark.parametrize("name", PLACES)
def test_a_count_that_can_be_marks_nothing(name: str, value: object) -> None:
    assert not reported(placed(name, value), decoding()).faulty


@pytest.mark.parametrize("name", PLACES[2:])
def test_a_part_that_is_not_told_marks_nothing(name: str) -> None:
    assert not reported(placed(name, None), decoding()).faulty
