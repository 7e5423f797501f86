"""Answers of a Responses API, read and passed on."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing.usage import Usage
from techniques.core.errors import StreamBroken
from techniques.core.events import (
    BlockAdded,
    Finished,
    FinishReason,
    Relayed,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStarted,
    UsageReported,
)
from techniques.core.json import Json
from techniques.core.request import Opaque, Refusal, Text, Thinking, ToolCall
from techniques.core.signatures import marked
from tests.fakes import responses, script
from tests.gateway.upstream.openai_responses_samples import (
    FIXTURES,
    STREAMS,
    cut,
    decoding,
    folded,
    read,
    read_until_failure,
    relayed_bytes,
    relaying,
    stream,
    usage_of,
)

WHOLE = (FIXTURES / "whole.json").read_bytes()
SAID = 'Grüße, a response.completed is no error:\u2028 "日本" 🦫\n'
PARTS = (
    Thinking("**Planning**\n\nTwo cities,\n\ntwo calls.", marked("gAAAAABo+/==", "rs_1")),
    Text("Looking both up."),
    ToolCall("call_A1", "weather", '{"city": "Bern"}'),
    ToolCall("call_B2", "now", "{}"),
    ToolCall("call_C3", "shell", '{"input":"echo \\"hi\\"\\n\\\\ 日"}'),
)


def test_a_text_stream_is_read_with_its_start_usage_and_end() -> None:
    events = read(decoding(), [stream("text")])

    assert events[0] == Started("resp_77", "real-rs")
    assert folded(events).text == SAID
    assert usage_of(events) == Usage(37, 15, cache_read_tokens=12)
    assert events[-1] == Finished("stop")


def test_reasoning_text_and_calls_keep_their_order_ids_and_signatures() -> None:
    events = read(decoding(), [stream("tools")])

    assert folded(events).parts == PARTS
    assert usage_of(events) == Usage(1731, 88, cache_read_tokens=1200, reasoning_tokens=40)
    assert events[-1] == Finished("tool_calls")


def test_calls_are_counted_from_zero_whatever_item_they_are() -> None:
    events = read(decoding(), [stream("tools")])

    assert [e.index for e in events if isinstance(e, ToolCallStarted)] == [0, 1, 2]
    assert {e.index for e in events if isinstance(e, ToolCallDelta)} == {0, 1, 2}


def test_items_of_hosted_tools_come_whole() -> None:
    events = read(decoding(), [stream("search")])
    blocks = [event.block for event in events if isinstance(event, BlockAdded)]

    assert [(block.dialect, block.value["type"]) for block in blocks] == [
        ("openai_responses", "web_search_call")
    ]
    assert folded(events).text == "It is 3,967 m high."
    assert events[-1] == Finished("stop")


def test_a_host_that_leaves_much_out_is_read_all_the_same_rsp_04() -> None:
    """No types, no ends of items, other ids each time, the response spread over its event."""
    events = read(decoding(), [stream("odd")])

    assert folded(events).parts == (Thinking("Add them."), Text("Four."))
    assert usage_of(events) == Usage(9, 6, reasoning_tokens=3)
    assert events[0] == Started("r_odd", "qwen")


@pytest.mark.parametrize("name", STREAMS)
@given(data=st.data())
def test_a_stream_reads_the_same_however_it_is_cut(name: str, data: st.DataObject) -> None:
    raw = stream(name)

    assert read(decoding(), cut(raw, data)) == read(decoding(), [raw])


@pytest.mark.parametrize("name", ["text", "tools", "search"])
@given(data=st.data())
def test_a_relayed_stream_comes_out_byte_for_byte_however_it_is_cut(
    name: str, data: st.DataObject
) -> None:
    raw = stream(name)
    events = read(relaying(), cut(raw, data))
    decoded = read(decoding(), [raw])

    assert relayed_bytes(events) == raw
    assert usage_of(events) == usage_of(decoded)
    assert isinstance(events[-1], Finished)
    assert isinstance(decoded[-1], Finished)
    assert events[-1].reason == decoded[-1].reason
    assert [event for event in events if isinstance(event, Finished)] == [events[-1]]


def test_what_follows_the_terminal_event_is_not_passed_on() -> None:
    raw = stream("odd")

    assert relayed_bytes(read(relaying(), [raw])) == raw.removesuffix(b"data: [DONE]\r\n\r\n")


@pytest.mark.parametrize("name", ["text", "tools", "search"])
@pytest.mark.parametrize("ending", [b"\r\n", b"\r"])
def test_other_line_ends_change_nothing(name: str, ending: bytes) -> None:
    raw = stream(name).replace(b"\n", ending)
    pieces = [raw[place : place + 7] for place in range(0, len(raw), 7)]

    assert read(decoding(), pieces) == read(decoding(), [stream(name)])
    assert relayed_bytes(read(relaying(), pieces)) == raw


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_that_ends_without_its_terminal_event_is_broken(name: str) -> None:
    raw = stream(name)
    places = range(0, raw.index(b"event: response.completed") + 40, 53)

    for reader in (decoding, relaying):
        for place in places:
            events, failure = read_until_failure(reader(), [raw[:place]])
            assert isinstance(failure, StreamBroken)
            assert not any(isinstance(event, Finished) for event in events)


def test_a_terminal_event_whose_blank_line_is_missing_still_ends_the_answer() -> None:
    raw = stream("text").rstrip(b"\n")

    assert read(decoding(), [raw]) == read(decoding(), [stream("text")])
    assert relayed_bytes(read(relaying(), [raw])) == stream("text")


def test_a_stream_without_a_done_mark_is_whole_rsp_02() -> None:
    used = {"input_tokens": 3, "output_tokens": 1, "total_tokens": 4}
    begun = {"id": "r1", "status": "in_progress", "output": []}
    ended = {"id": "r1", "status": "completed", "output": [], "usage": used}
    raw = script.event("response.created", sequence_number=0, response=begun)
    raw += script.event("response.completed", sequence_number=1, response=ended)

    for reader in (decoding(), relaying()):
        events = read(reader, [raw])
        assert usage_of(events) == Usage(3, 1)
        assert events[0] == Started("r1", "")
    assert relayed_bytes(read(relaying(), [raw])) == raw


def test_nothing_is_relayed_before_an_item_begins() -> None:
    raw = stream("text")
    begin = raw.index(b"event: response.output_item.added")
    reader = relaying()

    assert list(reader.feed(raw[:begin])) == []
    begun = list(reader.feed(raw[begin : raw.index(b"\n\n", begin) + 2]))
    assert begun[0] == Started("resp_77", "real-rs")
    assert isinstance(begun[1], Relayed)
    assert begun[1].raw.startswith(b"event: response.created")


def test_relayed_text_is_measured_exactly() -> None:
    events = read(relaying(), [stream("text")])
    told = sum(event.characters for event in events if isinstance(event, Relayed))
    marks = 5  # the events around the text, each of which is a sign of life

    assert told == len(SAID) + marks


def test_what_a_stream_tells_only_at_its_end_is_not_lost() -> None:
    ended = responses.response([responses.message("All at once.")])
    raw = script.event("response.completed", response=ended)

    assert folded(read(decoding(), [raw])).text == "All at once."


def test_an_item_that_is_told_twice_is_said_once() -> None:
    events = read(decoding(), [stream("tools"), b""])
    texts = [event.text for event in events if isinstance(event, TextDelta)]
    thoughts = [event.text for event in events if isinstance(event, ThinkingDelta)]

    assert texts == ["Looking ", "both up."]
    assert thoughts == ["**Planning**\n\nTwo cities,", "\n\ntwo calls."]


def test_a_call_of_plain_text_that_is_never_told_whole_is_closed_all_the_same() -> None:
    at = {"output_index": 0, "item_id": "ctc_1"}
    begun = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "shell"}
    raw = script.event("response.output_item.added", output_index=0, item={**begun, "input": ""})
    raw += script.event("response.custom_tool_call_input.delta", **at, delta="ls")
    raw += script.event("response.completed", response=responses.response([]))

    assert folded(read(decoding(), [raw])).parts == (ToolCall("c1", "shell", '{"input":"ls"}'),)


def test_reasoning_that_nobody_signed_is_one_block() -> None:
    items = [responses.reasoning("One.", name="rs_1"), responses.reasoning("Two.", name="rs_2")]
    raw = b"".join(responses.events(*((item, []) for item in items)))

    assert folded(read(decoding(), [raw])).parts == (Thinking("One.\n\nTwo."),)


def test_reasoning_that_can_only_be_decrypted_is_an_empty_signed_block() -> None:
    raw = b"".join(responses.events((responses.reasoning(encrypted="gA=="), [])))

    assert folded(read(decoding(), [raw])).parts == (Thinking("", marked("gA==", "rs_77")),)


def test_sources_are_read_with_the_places_that_they_have_in_all_of_the_text() -> None:
    cited = responses.message("It is so.")
    own = {"type": "url_citation", "url": "https://x", "start_index": 0, "end_index": 5}
    cited["content"][0]["annotations"] = [own]
    first = {**responses.message("First."), "id": "msg_0"}
    reply = folded(read(decoding(), responses.events((first, ["First."]), (cited, ["It is so."]))))

    assert reply.text == "First.It is so."
    (citation,) = reply.citations
    assert (citation.url, citation.start, citation.end) == ("https://x", 6, 11)
    assert citation.own == Opaque("openai_responses", own)


def test_a_refusal_is_one_and_ends_as_any_answer() -> None:
    raw = b"".join(responses.events((responses.refusal("I cannot."), ["I ", "cannot."])))
    reply = folded(read(decoding(), [raw]))

    assert reply.parts == (Refusal("I cannot."),)
    assert reply.finish_reason == "stop"


def test_a_whole_answer_is_read_like_a_streamed_one() -> None:
    reply = folded(read(decoding(streamed=False), [WHOLE]))

    assert reply.parts == (
        Thinking("Think.", marked("gAAA==", "rs_1")),
        Text("Fine."),
        ToolCall("call_A1", "weather", '{"city":"Oslo"}'),
    )
    assert reply.usage == Usage(12, 9, cache_read_tokens=8, reasoning_tokens=4)
    assert [one["token"] for one in reply.logprobs["content"]] == ["Fine", "."]


@given(data=st.data())
def test_a_whole_answer_is_passed_on_byte_for_byte_however_it_is_cut(data: st.DataObject) -> None:
    events = read(relaying(streamed=False), cut(WHOLE, data))

    assert relayed_bytes(events) == WHOLE
    assert usage_of(events) == Usage(12, 9, cache_read_tokens=8, reasoning_tokens=4)
    assert events[-1] == Finished("tool_calls")


def test_what_a_strict_client_could_not_read_is_mended_in_relayed_answers() -> None:
    at = {"item_id": "m", "output_index": 0, "content_index": 0}
    event = script.event("response.output_text.delta", **at, delta="hi", logprobs=["?"])
    raw = b"".join(responses.events()).replace(b"event: response.completed", event + b"\0", 1)
    raw = raw.replace(b'["?"]', b"[NaN]").replace(b"\0", b"event: response.completed")
    streamed = relayed_bytes(read(relaying(), [raw]))
    whole = relayed_bytes(read(relaying(streamed=False), [WHOLE.replace(b"-0.5", b"-Infinity")]))

    for line in streamed.splitlines():
        if line.startswith(b"data: "):
            orjson.loads(line[6:])
    assert b"NaN" in raw
    assert orjson.loads(whole)["output"][1]["content"][0]["logprobs"][0]["logprob"] is None


def test_log_probabilities_of_pieces_have_the_form_of_chat_completions() -> None:
    told: Json = [{"token": "Hi", "logprob": -0.5, "top_logprobs": [{"token": "H", "logprob": -2}]}]
    at = {"item_id": "m", "output_index": 0, "content_index": 0}
    raw = script.event("response.output_text.delta", **at, delta="Hi", logprobs=told)
    raw += script.event("response.completed", response=responses.response([]))
    deltas = [event for event in read(decoding(), [raw]) if isinstance(event, TextDelta)]

    other = {"token": "H", "logprob": -2, "bytes": None}
    token = {"token": "Hi", "logprob": -0.5, "bytes": None, "top_logprobs": [other]}
    assert deltas == [TextDelta("Hi", {"content": [token], "refusal": None})]


@pytest.mark.parametrize(
    ("status", "why", "reason"),
    [
        ("completed", None, "stop"),
        ("incomplete", "max_output_tokens", "length"),
        ("incomplete", "content_filter", "content_filter"),
        ("incomplete", "something_new", "length"),
        ("incomplete", None, "length"),
    ],
)
def test_why_a_model_stopped_is_told_rsp_06(
    status: str, why: str | None, reason: FinishReason
) -> None:
    details = None if why is None else {"reason": why}
    cut_short: dict[str, Json] = {"status": status, "incomplete_details": details}
    raw = b"".join(responses.events(**cut_short))
    whole = orjson.dumps(responses.response([responses.reasoning()], **cut_short))

    for events in (
        read(decoding(), [raw]),
        read(relaying(), [raw]),
        read(decoding(streamed=False), [whole]),
        read(relaying(streamed=False), [whole]),
    ):
        assert isinstance(events[-1], Finished)
        assert events[-1].reason == reason
        assert usage_of(events) == Usage(12, 4)


def test_how_a_call_was_served_is_told_with_its_usage() -> None:
    whole = orjson.dumps(responses.response([], service_tier="flex"))
    events = read(decoding(streamed=False), [whole])

    assert [event.mode for event in events if isinstance(event, UsageReported)] == ["flex"]


def test_a_block_of_another_kind_is_opaque_in_a_whole_answer_too() -> None:
    item = {"id": "ig_1", "type": "image_generation_call", "result": "aGk=", "status": "completed"}
    events = read(decoding(streamed=False), [orjson.dumps(responses.response([item]))])

    assert BlockAdded(Opaque("openai_responses", item)) in events
