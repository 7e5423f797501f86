from __future__ import annotations

import re
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing.usage import Usage
from techniques.core.errors import StreamBroken
from techniques.core.events import Finished, Relayed, Started, UsageReported
from tests.gateway.upstream.openai_chat_bytes import (
    DONE,
    FIXTURES,
    HELLO,
    ROLE,
    STOP,
    bare,
    broken,
    chunk,
    counted,
    drain,
    frame,
    payloads,
    relaying,
    sent,
)

STREAMS = sorted(path.name for path in FIXTURES.glob("*.sse"))
CUTS = st.lists(st.integers(0, 4000), max_size=30)


def told(data: bytes, *, usage: bool = False) -> Any:
    """The chunks that a client gets, and that the last mark is there once."""
    raw = sent(drain(relaying(usage=usage), data))
    assert raw.count(b"[DONE]") <= 1
    return payloads(raw)


@pytest.mark.parametrize("name", STREAMS)
@given(cuts=CUTS)
def test_a_regular_stream_is_relayed_byte_for_byte_however_it_is_cut(
    name: str, cuts: list[int]
) -> None:
    data = (FIXTURES / name).read_bytes()

    assert sent(drain(relaying(usage=True), data, cuts)) == data


@given(cuts=CUTS)
def test_a_regular_whole_answer_is_relayed_byte_for_byte(cuts: list[int]) -> None:
    data = (FIXTURES / "whole.json").read_bytes()
    events = drain(relaying(streamed=False), data, cuts)

    assert sent(events) == data
    assert UsageReported(Usage(12, 4, cache_read_tokens=8), "default") in events


def test_the_regular_events_of_one_read_leave_in_one_piece() -> None:
    events = drain(relaying(), HELLO + STOP + DONE)

    assert events == [Started("c1", "m"), Relayed(HELLO + STOP, 5), Finished("stop", raw=DONE)]


def test_bytes_before_the_answer_begins_are_held_back_flt_01_sse_06() -> None:
    reader = relaying()
    before = b": busy\n\n" + frame({"id": "", "model": "", "choices": []})

    assert not list(reader.feed(before))
    assert list(reader.feed(ROLE)) == [Started("c1", "m"), Relayed(before + ROLE, 0)]


def test_a_break_before_the_answer_begins_has_cost_nothing_ret_07() -> None:
    events, _ = broken(relaying(), b": queued\n\n")

    assert events == []


def test_the_length_of_what_was_said_is_told_for_an_estimate_use_05() -> None:
    named = {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}
    data = HELLO + chunk({"reasoning": "why"}) + chunk({"tool_calls": [named]}) + STOP + DONE
    events = drain(relaying(), data, range(len(data)))

    assert sum(event.characters for event in events if isinstance(event, Relayed)) == 5 + 3 + 3


def test_comments_pass_and_heartbeats_with_empty_data_do_not_sse_07() -> None:
    data = b"data:\n\n" + HELLO + b": still here\n\nevent: ping\ndata: \n\n" + STOP + DONE

    assert sent(drain(relaying(), data)) == HELLO + b": still here\n\n" + STOP + DONE


@pytest.mark.parametrize("mark", [b"", b"data: [DO", b"data: [DONE]", b"data: [DONE]\n"])
def test_an_answer_that_finished_is_complete_without_a_whole_end_mark_sse_14(mark: bytes) -> None:
    events = drain(relaying(), HELLO + STOP + mark)

    assert events[-1] == Finished("stop", raw=b"")
    assert sent(events) == HELLO + STOP


def test_a_finish_chunk_without_its_blank_line_counts() -> None:
    assert told(HELLO + STOP[:-1])[-1]["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize("end", [b"", DONE, chunk({"content": "!"})[:-20]])
def test_an_answer_that_ends_before_it_finished_is_broken_sse_12(end: bytes) -> None:
    events, error = broken(relaying(), HELLO + end)

    assert isinstance(error, StreamBroken)
    assert sent(events) == HELLO


def test_nothing_at_all_is_broken_and_worth_another_try_use_06() -> None:
    events, error = broken(relaying(), b"")

    assert (events, error.retryable) == ([], True)


def test_multi_line_data_and_a_missing_blank_are_legal_and_pass_sse_09() -> None:
    spread = b'data: {"id":"c1","choices":[{"index":0,\ndata: "delta":{"content":"lo"}}]}\n\n'
    data = (ROLE + STOP + DONE).replace(b"data: ", b"data:").replace(b"\n\n", b"\n\n" + spread, 1)

    assert sent(drain(relaying(), data)) == data


def test_unusual_line_separators_inside_json_are_text_sse_04() -> None:
    odd = chunk({"content": "a\u2028b\u2029c\u0085d\x0c"})

    assert sent(drain(relaying(), HELLO + odd + STOP + DONE)) == HELLO + odd + STOP + DONE


def test_empty_finish_reasons_become_null_sse_17() -> None:
    chunks = told(chunk({"content": "a"}, "") + chunk({"content": "b"}, "") + STOP + DONE)

    assert [one["choices"][0]["finish_reason"] for one in chunks] == [None, None, "stop"]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("eos", "stop"),
        ("SAFETY", "content_filter"),
        ("end_turn", "stop"),
        ("never heard of", "stop"),
        ("function_call", "function_call"),
    ],
)
def test_finish_reasons_become_openais_flt_04(said: str, meant: str) -> None:
    assert told(HELLO + chunk(finish=said) + DONE)[-1]["choices"][0]["finish_reason"] == meant


@pytest.mark.parametrize("said", ["error", "abort", "insufficient_system_resource"])
def test_a_finish_reason_that_tells_of_a_failure_is_one(said: str) -> None:
    _, error = broken(relaying(), HELLO + chunk(finish=said) + DONE)

    assert error.retryable


def test_a_choice_without_a_delta_gets_an_empty_one_flt_02() -> None:
    late = frame(bare(choices=[{"index": 0, "finish_reason": None, "content_filter_offsets": 1}]))
    choice = told(HELLO + late + STOP + DONE)[3]["choices"][0]

    assert (choice["delta"], choice["content_filter_offsets"]) == ({}, 1)


def calls(*deltas: dict[str, Any], finish: str = "tool_calls") -> bytes:
    body = b"".join(chunk({"tool_calls": [delta]}) for delta in deltas)
    return ROLE + body + chunk(finish=finish) + DONE


def call(name: str | None, arguments: Any, **more: Any) -> dict[str, Any]:
    function = {"arguments": arguments, **({"name": name} if name else {})}
    return {**more, "function": function}


def indexes(data: bytes) -> list[int]:
    deltas = [one["choices"][0]["delta"] for one in told(data)]
    return [call["index"] for delta in deltas for call in delta.get("tool_calls", ())]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([call("f", '{"x":', id="a1"), call(None, '"1"}')], [0, 0]),
        ([call("f", "{}", index=0, id="a1"), call("g", "{}", index=0, id="a2")], [0, 1]),
        ([call("f", "{", index=0, id="a1"), call(None, "}", index=0, id="zz")], [0, 0]),
        ([call("f", "{}", index=1, id="a1"), call("g", "{}", index=2, id="a2")], [0, 1]),
        ([call("f", "{", index=0, id="a1"), call("f", "}", index=0, id="a1")], [0, 0]),
        ([call("f", "", id="a1"), call("g", "", id="a2"), call(None, "{}", id="a1")], [0, 1, 0]),
    ],
    ids=["none", "all zero", "an id a piece", "from one", "the name again", "by id"],
)
def test_every_piece_gets_the_index_of_its_call_tool_01_tool_03(
    pieces: list[dict[str, Any]], expected: list[int]
) -> None:
    assert indexes(calls(*pieces)) == expected


def test_arguments_given_as_an_object_become_text_tool_06() -> None:
    piece = told(calls(call("f", {"x": "1"}, index=0, id="a1")))[1]["choices"][0]["delta"]

    assert piece["tool_calls"][0]["function"]["arguments"] == '{"x":"1"}'


def test_stop_after_tool_calls_means_tool_calls_tool_08() -> None:
    events = drain(relaying(), calls(call("f", "{}", index=0, id="a1"), finish="stop"))

    assert payloads(sent(events))[-1]["choices"][0]["finish_reason"] == "tool_calls"
    assert isinstance(events[-1], Finished)
    assert events[-1].reason == "tool_calls"


def test_an_old_function_call_passes_unchanged_tool_10() -> None:
    data = ROLE + chunk({"function_call": {"name": "f", "arguments": "{}"}}, "function_call") + DONE

    assert sent(drain(relaying(), data)) == data


def test_a_large_event_is_relayed_unchanged_sse_16() -> None:
    data = calls(call("f", orjson.dumps({"x": "a" * 600_000}).decode(), index=0, id="a1"))

    assert sent(drain(relaying(), data, range(0, len(data), 65536))) == data


def test_numbers_that_are_no_json_become_null_json_03() -> None:
    odd = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":'
    odd += b'[{"token":"a","logprob":-Infinity}]}}]}\n\n'
    entry = told(ROLE + odd + STOP + DONE)[1]["choices"][0]["logprobs"]["content"][0]

    assert entry == {"token": "a", "logprob": None}


def test_an_error_in_place_of_an_answer_is_a_failure_sse_19() -> None:
    wrong = {"error": {"message": "engine crashed", "type": "server_error", "code": "x1"}}
    events, error = broken(relaying(), b": hello\n\n" + frame(wrong))

    assert events == []
    assert (error.message, error.said.code, error.retryable) == ("engine crashed", "x1", True)


def test_an_error_event_after_text_comes_after_that_text() -> None:
    wrong = b"event: error\n" + frame({"error": {"message": "no tool", "status_code": 400}})
    events, error = broken(relaying(), HELLO + wrong)

    assert sent(events) == HELLO
    assert (error.kind, error.retryable) == ("rejected", False)


def test_an_event_that_is_no_json_is_an_invalid_answer() -> None:
    _, error = broken(relaying(), HELLO + b"data: oops\n\n")

    assert (error.kind, error.code) == ("invalid_answer", "upstream_invalid_response")


def test_bytes_after_the_end_mark_are_ignored() -> None:
    reader = relaying()
    events = [*reader.feed(HELLO + STOP + DONE + HELLO), *reader.feed(HELLO), *reader.end()]

    assert sent(events) == HELLO + STOP + DONE


def several(index: int, finish: str | None = None) -> bytes:
    choice = {"index": index, "delta": {"content": "x"}, "finish_reason": finish}
    return frame(bare(choices=[choice]))


def test_of_several_choices_all_must_finish_or_the_end_mark_must_come() -> None:
    one = several(0) + several(1) + several(0, "stop")
    both = one + several(1, "length")

    assert sent(drain(relaying(n=2), both)) == both
    assert sent(drain(relaying(n=2), one + DONE)) == one + DONE
    assert isinstance(broken(relaying(n=2), one)[1], StreamBroken)


@given(cuts=CUTS)
def test_an_irregular_stream_says_the_same_however_it_is_cut(cuts: list[int]) -> None:
    data = b"data:\n\n" + HELLO + chunk({"content": "!"}, "", usage=counted(1, 2))
    data += calls(call("f", {"x": 1}), finish="STOP")
    whole = sent(drain(relaying(usage=True), data))

    assert sent(drain(relaying(usage=True), data, cuts)) == whole
    assert not re.search(rb'"finish_reason":("STOP"|"")', whole)
