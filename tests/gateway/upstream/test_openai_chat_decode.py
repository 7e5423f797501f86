from __future__ import annotations

from itertools import pairwise
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing.usage import Usage
from techniques.core.errors import StreamBroken
from techniques.core.events import (
    Event,
    Finished,
    FinishReason,
    RefusalDelta,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStarted,
    UsageReported,
)
from techniques.core.request import Opaque, RedactedThinking, Refusal, Text, Thinking, ToolCall
from techniques.core.signatures import packed
from tests.gateway.upstream.openai_chat_bytes import (
    DONE,
    FIXTURES,
    HELLO,
    ROLE,
    STOP,
    bare,
    broken,
    chunk,
    completion,
    counted,
    decoding,
    drain,
    folded,
    frame,
    relaying,
    sent,
)

CUTS = st.lists(st.integers(0, 4000), max_size=30)
STREAMS = sorted(path.name for path in FIXTURES.glob("*.sse"))
THOUGHTS = [
    (("<think>why</th", "ink>yes"), "why", "yes"),
    (("pre <th", "ink>why</think>yes"), "why", "pre yes"),
    (("<", "t", "h", "i", "n", "k", ">why</think", "> yes"), "why", " yes"),
    (("<think>why</think>yes",), "why", "yes"),
    (("a < b <thin air",), "", "a < b <thin air"),
    (("<think>cut off </th",), "cut off </th", ""),
]


def whole(message: Any, finish: Any = "stop", **more: Any) -> list[Event]:
    return drain(decoding(streamed=False), orjson.dumps(completion(message, finish, **more)))


def piece(name: str | None, arguments: Any, **more: Any) -> bytes:
    function = {"arguments": arguments, **({"name": name} if name else {})}
    return chunk({"tool_calls": [{**more, "function": function}]})


@pytest.mark.parametrize("name", STREAMS)
@given(cuts=CUTS)
def test_a_stream_spells_the_same_reply_however_it_is_cut(name: str, cuts: list[int]) -> None:
    data = (FIXTURES / name).read_bytes()

    assert drain(decoding(), data, cuts) == drain(decoding(), data)


def test_the_recorded_kinds_of_stream_are_read() -> None:
    replies = {name: folded(drain(decoding(), (FIXTURES / name).read_bytes())) for name in STREAMS}

    assert replies["text_usage.sse"].text == "Blue whales \u2013 鯨 😀"
    assert replies["text_usage.sse"].usage == Usage(12, 4, cache_read_tokens=8)
    assert replies["comments_crlf_reasoning.sse"].parts == (Thinking("Add them."), Text("Four."))
    assert replies["filter_preamble.sse"].text == "Paris"
    assert replies["tools.sse"].parts == (
        ToolCall("call_Aa1", "weather", '{"city":"Oslo"}'),
        ToolCall("call_Bb2", "clock", "{}"),
    )


def test_characters_cut_in_the_middle_stay_whole_sse_05() -> None:
    data = HELLO + chunk({"content": "무엇을😀"}) + STOP + DONE

    assert folded(drain(decoding(), data, range(len(data)))).text == "Hello무엇을😀"


def test_text_and_finish_may_share_a_chunk_sse_15() -> None:
    reply = folded(drain(decoding(), HELLO + chunk({"content": "!"}, "length") + DONE))

    assert (reply.text, reply.finish_reason) == ("Hello!", "length")


def test_nulls_and_missing_keys_are_no_text_rsn_04() -> None:
    data = chunk({"role": "assistant", "content": None})
    data += chunk({"content": None, "reasoning_content": None})
    data += chunk({"content": "ok", "reasoning_content": None}) + chunk({"content": None}, "stop")

    assert folded(drain(decoding(), data)).parts == (Text("ok"),)


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_is_read_from_any_of_its_fields_rsn_03(name: str) -> None:
    stream = chunk({name: "wh"}) + chunk({name: "y"}) + chunk({"content": "ok"}) + STOP + DONE
    expected = (Thinking("why"), Text("ok"))

    assert folded(drain(decoding(), stream)).parts == expected
    assert folded(whole({"content": "ok", name: "why"})).parts == expected


DETAILS: list[Any] = [
    {"type": "reasoning.text", "text": "why", "signature": "c2ln", "index": 0},
    {"type": "reasoning.summary", "summary": "?", "index": 1},
    {"type": "reasoning.encrypted", "data": "b3A=", "index": 2},
]


PLAIN: list[Any] = [{"type": "reasoning.text", "text": "why", "index": 0}, *DETAILS[1:]]


@pytest.mark.parametrize(("apart", "read"), [("why", "why"), (None, "why?")])
def test_details_of_reasoning_are_kept_as_they_came_and_read_where_nothing_else_is(
    apart: str | None, read: str
) -> None:
    message = {"reasoning": apart, "reasoning_details": PLAIN, "content": "ok"}
    kept = Opaque("openai_chat", {"reasoning_details": PLAIN}, thinking=True)
    reply = folded(whole(message))

    hidden = RedactedThinking(packed([part for part in PLAIN if "encrypted" in part["type"]]))
    assert set(map(str, reply.parts)) == set(map(str, (kept, hidden, Thinking(read), Text("ok"))))
    assert (reply.thinking, reply.text) == (read, "ok")


@pytest.mark.parametrize("apart", ["why?", None])
def test_what_a_host_signed_is_signed_and_what_it_did_not_is_not(apart: str | None) -> None:
    reply = folded(whole({"reasoning": apart, "reasoning_details": DETAILS, "content": "ok"}))

    signature = packed([{"type": "reasoning.text", "signature": "c2ln", "index": 0}])
    thoughts = [part for part in reply.parts if isinstance(part, Thinking)]
    assert thoughts == [Thinking("why", signature), Thinking("?")]
    assert reply.thinking == "why?"


def test_a_signature_closes_the_reasoning_that_came_in_pieces() -> None:
    text: list[Any] = [{"type": "reasoning.text", "text": word, "index": 0} for word in ("wh", "y")]
    signed: Any = {"type": "reasoning.text", "text": "", "signature": "c2ln", "index": 0}
    pieces = [{"reasoning": part["text"], "reasoning_details": [part]} for part in (*text, signed)]
    data = ROLE + b"".join(map(chunk, pieces)) + chunk({"content": "ok"}) + STOP + DONE

    parts = folded(drain(decoding(), data)).parts

    signature = packed([{"type": "reasoning.text", "signature": "c2ln", "index": 0}])
    said = [part for part in parts if not isinstance(part, Opaque)]
    assert said == [Thinking("why", signature), Text("ok")]


def test_details_in_pieces_do_not_tear_the_reasoning_apart() -> None:
    pieces = [{"reasoning": word, "reasoning_details": [{"text": word}]} for word in ("wh", "y")]
    data = ROLE + b"".join(map(chunk, pieces)) + chunk({"content": "ok"}) + STOP + DONE
    parts = folded(drain(decoding(), data)).parts

    assert [part for part in parts if not isinstance(part, Opaque)] == [Thinking("why"), Text("ok")]
    assert [part.value["reasoning_details"] for part in parts if isinstance(part, Opaque)] == [
        [{"text": "wh"}],
        [{"text": "y"}],
    ]


@pytest.mark.parametrize("details", ["x", [None, 3], {}, None])
def test_details_of_another_shape_are_nothing(details: Any) -> None:
    assert folded(whole({"reasoning_details": details, "content": "ok"})).parts == (Text("ok"),)


def test_reasoning_given_as_content_parts_is_read() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "why"}]}

    reply = folded(whole({"content": [thought, {"type": "text", "text": "ok"}]}))

    assert reply.parts == (Thinking("why"), Text("ok"))


@pytest.mark.parametrize(("parts", "thought", "said"), THOUGHTS)
def test_think_tags_are_split_off_wherever_they_are_cut_rsn_01(
    parts: tuple[str, ...], thought: str, said: str
) -> None:
    data = ROLE + b"".join(chunk({"content": part}) for part in parts) + STOP + DONE
    split = folded(drain(decoding(split=True), data))

    assert (split.thinking, split.text) == (thought, said)
    assert folded(drain(decoding(), data)).text == "".join(parts)


@given(text=st.text("<think>/ab", max_size=40), cuts=CUTS)
def test_the_cut_of_a_text_does_not_change_what_is_thinking_rsn_01(
    text: str, cuts: list[int]
) -> None:
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    parts = [text[start:end] for start, end in pairwise(places)]
    whole_data, cut_data = (
        ROLE + b"".join(chunk({"content": part}) for part in texts) + STOP
        for texts in ([text], parts)
    )
    one, other = (folded(drain(decoding(split=True), data)) for data in (whole_data, cut_data))

    assert (one.text, one.thinking) == (other.text, other.thinking)


def test_refusals_and_logprobs_are_kept_par_06() -> None:
    logprobs = {"content": [{"token": "a", "logprob": -0.1, "bytes": [97], "top_logprobs": []}]}
    choice = {"index": 0, "delta": {"content": "a"}, "logprobs": logprobs, "finish_reason": None}
    data = ROLE + chunk({"refusal": "I can"}) + chunk({"refusal": "not"})
    events = drain(decoding(), data + frame(bare(choices=[choice])) + STOP + DONE)

    assert folded(events).parts == (Refusal("I cannot"), Text("a"))
    assert TextDelta("a", logprobs) in events
    assert RefusalDelta("not") in events


def test_tool_calls_become_a_start_and_pieces() -> None:
    data = ROLE + piece("f", "", index=0, id="a1") + piece(None, '{"x":1}', index=0)

    assert drain(decoding(), data + chunk(finish="tool_calls") + DONE) == [
        Started("c1", "m"),
        ToolCallStarted(0, "a1", "f"),
        ToolCallDelta(0, '{"x":1}'),
        Finished("tool_calls"),
    ]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([("f", "{}", {"index": 0, "id": "a"}), ("g", "[]", {"index": 0, "id": "b"})], "ab"),
        ([("f", "{}", {"index": 3, "id": "a"}), ("g", "[]", {"index": 5, "id": "b"})], "ab"),
        ([("f", None, {"index": 0, "id": "a"}), ("f", None, {"index": 0, "id": "a"})], "a"),
        ([(None, None, {"index": 0, "id": "a"}), ("f", "{}", {"index": 0})], "a"),
    ],
    ids=["all zero", "gaps", "the name again", "id before name"],
)
def test_calls_are_told_apart_tool_01_tool_03(pieces: list[Any], expected: str) -> None:
    data = b"".join(piece(name, arguments, **more) for name, arguments, more in pieces)
    reply = folded(drain(decoding(), ROLE + data + chunk(finish="tool_calls")))

    assert [call.id for call in reply.tool_calls] == list(expected)
    assert all(call.name for call in reply.tool_calls)


def test_a_call_without_an_id_gets_one() -> None:
    data = ROLE + piece("f", "{}", index=0) + piece("g", "{}", index=1)
    ids = {call.id for call in folded(drain(decoding(), data + STOP)).tool_calls}

    assert len(ids) == 2
    assert all(identity.startswith("call_") for identity in ids)


def test_stop_after_calls_means_tool_calls_tool_08() -> None:
    data = ROLE + piece("f", "{}", index=0, id="a1") + STOP + DONE

    assert drain(decoding(), data)[-1] == Finished("tool_calls")


def test_an_old_function_call_is_a_tool_call_tool_10() -> None:
    function = {"name": "f", "arguments": '{"x":1}'}
    reply = folded(drain(decoding(), ROLE + chunk({"function_call": function}, "function_call")))

    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("f", '{"x":1}')]
    assert reply.finish_reason == "tool_calls"


def test_whole_arguments_may_be_an_object_or_missing_tool_05_tool_06() -> None:
    functions = [
        {"name": "f", "arguments": {"x": "1"}},
        {"name": "g"},
        {"name": "h", "arguments": ""},
    ]
    calls = [{"id": f"a{n}", "function": function} for n, function in enumerate(functions)]
    reply = folded(whole({"content": None, "tool_calls": calls}, "tool_calls"))

    assert [call.arguments for call in reply.tool_calls] == ['{"x":"1"}', "{}", ""]


def test_the_stop_text_that_a_host_names_is_kept() -> None:
    choice = {"index": 0, "message": {"content": "a"}, "finish_reason": "stop", "stop_reason": "\n"}
    data = orjson.dumps(bare(choices=[choice]))

    assert drain(decoding(streamed=False), data)[-1] == Finished("stop_sequence", "\n")


def test_reasoning_left_out_of_the_output_count_is_counted() -> None:
    usage = {**counted(66, 6), "total_tokens": 100}

    assert UsageReported(Usage(66, 34, reasoning_tokens=28)) in whole({"content": "a"}, usage=usage)


@pytest.mark.parametrize(
    ("inputs", "outputs", "used"),
    [
        ({"cached_tokens": 900}, {}, Usage(66, 6, cache_read_tokens=66)),
        ({"audio_tokens": 900}, {}, Usage(66, 6, audio_input_tokens=66)),
        (
            {"cached_tokens": 60, "cache_write_tokens": 5, "audio_tokens": 9, "image_tokens": 9},
            {},
            Usage(66, 6, cache_read_tokens=60, cache_write_tokens=5, audio_input_tokens=1),
        ),
        ({}, {"audio_tokens": 4, "image_tokens": 4}, Usage(66, 6, 0, 0, 0, 0, 0, 4, 0, 2)),
        ({}, {"reasoning_tokens": 5, "audio_tokens": 4}, Usage(66, 6, 0, 0, 0, 5, 0, 1)),
        ({}, {"reasoning_tokens": 7}, Usage(66, 13, reasoning_tokens=7)),
        (
            {"cached_tokens": -9, "audio_tokens": "9"},
            {"reasoning_tokens": -1},
            Usage(66, 6, faulty=True),
        ),
    ],
)
def test_parts_are_never_more_than_the_whole(inputs: Any, outputs: Any, used: Usage) -> None:
    usage = {
        **counted(66, 6),
        "prompt_tokens_details": inputs,
        "completion_tokens_details": outputs,
    }

    assert UsageReported(used) in whole({"content": "a"}, usage=usage)


@pytest.mark.parametrize(
    ("finish", "meant"),
    [("content_filter", "content_filter"), ("MAX_TOKENS", "length"), ("STOP", "stop")],
)
def test_a_message_without_content_is_empty_flt_03_flt_04(finish: str, meant: FinishReason) -> None:
    data = orjson.dumps(completion({"role": "assistant"}, finish))
    relayed = orjson.loads(sent(drain(relaying(streamed=False), data)))["choices"][0]

    assert whole({"role": "assistant"}, finish)[-1] == Finished(meant)
    assert (relayed["message"]["content"], relayed["finish_reason"]) == (None, meant)


def test_numbers_that_are_no_json_leave_a_whole_answer_as_null_json_03() -> None:
    body = orjson.dumps(completion({"role": "assistant", "content": "a"}, mark="#"))
    strict = sent(drain(relaying(streamed=False), body.replace(b'"#"', b"[NaN, -Infinity]")))

    assert orjson.loads(strict)["mark"] == [None, None]


@pytest.mark.parametrize("body", [b"", b" \n", b"<html>", b"[]", b'"x"', b'{"choices":[]}', b"{}"])
@pytest.mark.parametrize("make", [decoding, relaying])
def test_what_is_no_answer_is_worth_another_try_ret_06(body: bytes, make: Any) -> None:
    _, error = broken(make(streamed=False), body)

    assert (error.kind, error.retryable) == ("invalid_answer", True)
    assert error.code == "upstream_invalid_response"


def test_tokens_of_an_answer_without_choices_are_told_use_08() -> None:
    _, error = broken(
        decoding(streamed=False), orjson.dumps(bare(choices=[], usage=counted(10, 7)))
    )

    assert error.said.usage == Usage(10, 7)


def test_an_error_object_with_status_200_is_a_failure_ret_09() -> None:
    body = {"error": {"message": "model overloaded", "type": "server_error", "code": 503}}
    _, error = broken(relaying(streamed=False), orjson.dumps(body))

    assert (error.kind, error.retryable, error.said.status) == ("overloaded", True, 503)


@pytest.mark.parametrize("end", [DONE, b"data: [DONE]", b"data:  [DONE] \r\n\r\n"])
def test_the_terminal_line_is_an_end_where_no_reason_was_told_rsp_01(end: bytes) -> None:
    call = chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f"}}]})

    assert drain(decoding(), HELLO + end)[-1] == Finished("stop")
    assert drain(decoding(), HELLO + call + end)[-1] == Finished("tool_calls")


def test_a_terminal_line_alone_is_no_answer() -> None:
    events, error = broken(decoding(), DONE)

    assert (events, error.kind) == ([], "transport")


@pytest.mark.parametrize("end", [b"", b"data: [DO"])
def test_a_stream_without_a_finish_is_broken_sse_12(end: bytes) -> None:
    events, error = broken(decoding(), HELLO + end)

    assert isinstance(error, StreamBroken)
    assert events == [Started("c1", "m"), TextDelta("Hel"), TextDelta("lo")]


def test_thinking_comes_before_the_text_of_one_delta() -> None:
    events = drain(decoding(), chunk({"content": "b", "reasoning": "a"}, "stop"))

    assert events[1:3] == [ThinkingDelta("a"), TextDelta("b")]
