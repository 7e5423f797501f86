"""Streams of the Responses API: their grammar, and that a stream and a whole answer agree."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from gateway.wire.dialect import Summary
from pricing.usage import Usage
from techniques.core.errors import GatewayError, KeyLimited, Said, StreamBroken, UpstreamFailed
from techniques.core.events import (
    BlockAdded,
    Event,
    Finished,
    FinishReason,
    Note,
    Provisional,
    Redacted,
    RefusalDelta,
    Relayed,
    Signed,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStarted,
    Traced,
    UsageReported,
    Warned,
)
from techniques.core.json import Json
from techniques.core.reply import Reply
from techniques.core.request import Opaque, ToolCall
from techniques.core.signatures import marked
from tests.gateway.wire.responses_calls import (
    CUSTOM,
    DIALECT,
    FUNCTION,
    QUIET,
    TOLD,
    call,
    encoder,
    frames,
    kinds,
    streamed,
    whole,
)

BEGUN = ["created", "in_progress"]
MESSAGE = ["output_item.added", "content_part.added"]
SAID = ["output_text.done", "content_part.done", "output_item.done"]
SUMMARY = ["reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done"]
CALLED = ["function_call_arguments.done", "output_item.done"]
PROBABLE = {"content": [{"token": "Hi", "logprob": -0.5, "bytes": None, "top_logprobs": []}]}
EVERYTHING: tuple[Event, ...] = (
    Started("chatcmpl-1", "real"),
    ThinkingDelta("Let me "),
    ThinkingDelta("see."),
    Signed("c2ln"),
    Redacted("cmVk"),
    TextDelta("Hi", PROBABLE),
    TextDelta(" there"),
    RefusalDelta("No"),
    ToolCallStarted(0, "call_1", "f"),
    ToolCallDelta(0, '{"a"'),
    ToolCallDelta(0, ":1}"),
    ToolCallStarted(1, "", "f"),
    ToolCallStarted(2, "call_3", "patch"),
    ToolCallDelta(2, '{"input":"+ \\u00e9'),
    ToolCallDelta(2, '"}'),
    UsageReported(Usage(7, 3, cache_read_tokens=2, reasoning_tokens=1), "flex"),
    Finished("tool_calls"),
)
SEARCHED = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "x"},
}
SHAPES: list[tuple[Event, ...]] = [
    EVERYTHING,
    (TextDelta("a"), ThinkingDelta("b"), TextDelta("c"), Finished()),
    (*(ToolCallStarted(index, "call_0", "f") for index in range(3)), Finished("tool_calls")),
    (TextDelta(""), ThinkingDelta(""), Finished()),
    (ThinkingDelta("only"), Finished("length")),
    (ThinkingDelta(""), Signed(marked("abc")), TextDelta("a"), Finished("length")),
    (TextDelta("a"), Finished("content_filter")),
    (RefusalDelta("a"), TextDelta("b"), Finished("refusal")),
    (ToolCallStarted(0, "a", "f"), ToolCallDelta(0, '{"x":'), Finished("length")),
    (Signed("c2ln"), Finished("length")),
    (BlockAdded(Opaque("anthropic", {"type": "odd"})), Finished()),
    (
        BlockAdded(Opaque("openai_responses", SEARCHED)),
        TextDelta("a"),
        Finished(),
    ),
    (Finished(),),
]


def test_a_text_is_a_message_with_one_part_and_all_its_events() -> None:
    told = streamed(encoder(), Started("chatcmpl-9"), TextDelta("Hi"), TextDelta("!"), Finished())

    deltas = ["output_text.delta"] * 2
    assert kinds(told) == [*BEGUN, *MESSAGE, *deltas, *SAID, "completed"]
    assert told[0]["response"]["output"] == []
    assert [one["delta"] for one in told if "delta" in one] == ["Hi", "!"]
    [message] = told[-1]["response"]["output"]
    assert message == told[-2]["item"]
    assert message["content"][0]["text"] == "Hi!"
    ids = {one.get("item_id") or one["item"]["id"] for one in told[2:-1]}
    assert ids == {message["id"]}
    assert {one["response"]["id"] for one in (told[0], told[1], told[-1])} == {"resp_req1"}


@pytest.mark.parametrize("events", SHAPES)
def test_a_stream_and_a_whole_answer_agree(events: tuple[Event, ...]) -> None:
    fields: dict[str, Json] = {"tools": [FUNCTION, CUSTOM]}
    last = streamed(encoder(**fields), *events)[-1]["response"]
    other = whole(*events, **fields)

    times = {"created_at": 0, "completed_at": 0, "model": "", "service_tier": ""}
    assert last | times == other | times
    assert {"text", "tools", "tool_choice", "usage"} < last.keys()


@pytest.mark.parametrize("events", SHAPES)
def test_each_item_is_added_and_done_once_under_one_name(events: tuple[Event, ...]) -> None:
    told = streamed(encoder(tools=[FUNCTION, CUSTOM]), *events)

    added = [one for one in told if one["type"] == "response.output_item.added"]
    done = [one for one in told if one["type"] == "response.output_item.done"]
    places = list(range(len(added)))
    assert [one["output_index"] for one in added] == places
    assert sorted(one["output_index"] for one in done) == places
    named = {one["output_index"]: one["item"].get("id") for one in added}
    assert named == {one["output_index"]: one["item"].get("id") for one in done}
    assert len(set(named.values())) == len(named)
    for one in told:
        if "item_id" in one:
            assert one["item_id"] == named[one["output_index"]]
    finals = [one["item"] for one in sorted(done, key=lambda one: one["output_index"])]
    assert told[-1]["response"]["output"] == finals
    assert all(len(name) <= 64 for name in named.values() if name)


@pytest.mark.parametrize("events", SHAPES)
def test_the_deltas_spell_what_is_told_at_their_end(events: tuple[Event, ...]) -> None:
    told = streamed(encoder(tools=[FUNCTION, CUSTOM]), *events)

    spelled: dict[Json, str] = {}
    ended: dict[Json, str] = {}
    for one in told:
        kind, _, step = one["type"].rpartition(".")
        at = kind, one.get("item_id"), one.get("content_index"), one.get("summary_index")
        if step == "delta":
            spelled[at] = spelled.get(at, "") + one["delta"]
        elif step == "done" and "item_id" in one and "part" not in one:
            names = ("text", "refusal", "arguments", "input")
            [ended[at]] = [one[name] for name in names if name in one]
    assert spelled == ended


def test_reasoning_comes_as_a_summary_with_what_its_maker_wants_back() -> None:
    told = streamed(encoder(), ThinkingDelta("Hm"), Signed("c2ln"), TextDelta("a"), Finished())

    part = ["output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta"]
    assert kinds(told)[2:8] == [*part, *SUMMARY]
    item = told[7]["item"]
    assert item["summary"] == [{"type": "summary_text", "text": "Hm"}]
    assert item["encrypted_content"] == "anthropic:c2ln"
    assert "status" not in item


def test_a_signature_of_a_responses_api_is_shown_as_it_came() -> None:
    [item, *_] = whole(ThinkingDelta(""), Signed(marked("gAAA")), Finished())["output"]

    assert (item["summary"], item["encrypted_content"]) == ([], "gAAA")


def test_a_call_whose_arguments_are_whole_is_done_when_the_next_begins() -> None:
    told = streamed(
        encoder(tools=[FUNCTION]),
        ToolCallStarted(0, "a", "f"),
        ToolCallDelta(0, "{}"),
        ToolCallStarted(1, "b", "f"),
        ToolCallDelta(1, "{}"),
        Finished("tool_calls"),
    )

    one = ["output_item.added", "function_call_arguments.delta", *CALLED]
    assert kinds(told) == [*BEGUN, *one, *one, "completed"]
    assert told[4]["name"] == "f"


def test_calls_whose_arguments_come_in_turn_lose_none() -> None:
    told = streamed(
        encoder(tools=[FUNCTION]),
        ToolCallStarted(0, "a", "f"),
        ToolCallStarted(1, "b", "f"),
        ToolCallDelta(0, '{"a"'),
        ToolCallDelta(1, '{"b"'),
        ToolCallDelta(0, ":1}"),
        ToolCallDelta(1, ":2}"),
        Finished("tool_calls"),
    )

    output = told[-1]["response"]["output"]
    assert [item["arguments"] for item in output] == ['{"a":1}', '{"b":2}']


def test_calls_to_which_a_host_gave_one_id_are_told_apart() -> None:
    calls = [ToolCallStarted(index, "call_0", "f") for index in range(2)]

    output = whole(*calls, Finished("tool_calls"), tools=[FUNCTION])["output"]

    assert [item["call_id"] for item in output] == ["call_0", "call_0_req1_1"]


def test_a_tool_that_takes_text_is_called_with_text() -> None:
    told = streamed(
        encoder(tools=[CUSTOM]),
        ToolCallStarted(0, "a", "patch"),
        ToolCallDelta(0, '{"input":"*** Begin\\n'),
        ToolCallDelta(0, '*** End"}'),
        Finished("tool_calls"),
    )

    steps = ["custom_tool_call_input.delta", "custom_tool_call_input.done"]
    assert kinds(told)[2:-1] == ["output_item.added", *steps, "output_item.done"]
    [item] = told[-1]["response"]["output"]
    assert (item["type"], item["input"]) == ("custom_tool_call", "*** Begin\n*** End")


@pytest.mark.parametrize("written", ["", "plain", '{"other":1}', "[1]", '{"input":1}'])
def test_what_a_model_wrote_for_such_a_tool_otherwise_stays(written: str) -> None:
    events = ToolCallStarted(0, "a", "patch"), ToolCallDelta(0, written), Finished("tool_calls")

    [item] = whole(*events, tools=[CUSTOM])["output"]

    assert item["input"] == (written or "{}")


REASONS: list[tuple[FinishReason, str, str | None]] = [
    ("stop", "completed", None),
    ("stop_sequence", "completed", None),
    ("tool_calls", "completed", None),
    ("pause", "completed", None),
    ("length", "incomplete", "max_output_tokens"),
    ("content_filter", "incomplete", "content_filter"),
    ("refusal", "incomplete", "content_filter"),
]


@pytest.mark.parametrize(("reason", "status", "why"), REASONS)
def test_the_status_tells_whether_the_answer_is_whole(
    reason: FinishReason, status: str, why: str | None
) -> None:
    last = streamed(encoder(), TextDelta("a"), Finished(reason))[-1]

    assert last["type"] == f"response.{status}"
    response = last["response"]
    assert (response["status"], response["output"][0]["status"]) == (status, status)
    assert response["incomplete_details"] == (None if why is None else {"reason": why})
    assert (response["completed_at"] is None) is (status == "incomplete")


def test_usage_has_its_details_and_what_the_run_came_to() -> None:
    usage = Usage(7, 3, cache_read_tokens=2, cache_write_tokens=1, reasoning_tokens=2)
    last = streamed(encoder(), TextDelta("a"), UsageReported(usage), Finished())[-1]
    total = Summary(TOLD.usage, 3, "0.3", "operator", TOLD.trailer, total=True)
    swapped = streamed(encoder(), UsageReported(usage), Finished(), summary=total)[-1]

    told = last["response"]["usage"]
    assert (told["input_tokens"], told["output_tokens"], told["total_tokens"]) == (7, 3, 10)
    assert told["input_tokens_details"] == {"cached_tokens": 2, "cache_write_tokens": 1}
    assert told["output_tokens_details"] == {"reasoning_tokens": 2}
    assert (told["lockgate"]["input_tokens"], told["lockgate"]["calls"]) == (30, 3)
    assert swapped["response"]["usage"]["input_tokens"] == 30
    assert swapped["response"]["usage"]["lockgate"]["input_tokens"] == 7


def test_a_client_that_asked_for_nothing_of_ours_is_told_nothing_of_it() -> None:
    to = encoder()
    sent = to.feed(TextDelta("a")) + to.feed(Finished()) + to.end(QUIET)

    assert b"lockgate" not in sent
    assert b"[DONE]" not in sent


def test_logprobs_stand_with_the_text_that_they_are_of() -> None:
    told = streamed(encoder(), TextDelta("Hi", PROBABLE), Finished())

    token = {"token": "Hi", "bytes": [72, 105], "logprob": -0.5, "top_logprobs": []}
    [delta] = [one for one in told if one["type"].endswith("text.delta")]
    assert delta["logprobs"] == [token]
    assert told[-1]["response"]["output"][0]["content"][0]["logprobs"] == [token]


def test_a_draft_is_an_item_of_its_own_among_the_reasoning() -> None:
    events = ThinkingDelta("Hm"), Provisional("one"), Provisional("two"), TextDelta("end")
    told = streamed(encoder(), *events, Finished())

    output = told[-1]["response"]["output"]
    assert [item["type"] for item in output] == ["reasoning", "reasoning", "message"]
    assert output[0]["summary"][0]["text"] == "Hm"
    assert all(word in output[1]["summary"][0]["text"] for word in ("one", "two"))


def test_what_is_no_part_of_the_answer_is_a_comment_or_nothing() -> None:
    to = encoder()

    assert to.feed(Traced("0", "draft", "m", "words")).startswith(b": trace {")
    assert to.feed(Note("progress", {"n": 1})) == b': progress {"n":1}\n\n'
    assert to.feed(Note("votes", {"n": 1})) == b""
    assert to.feed(Warned("x")) == b""
    assert to.ping() == b": ping\n\n"
    assert to.held({"state": "held"}).startswith(b": lockgate {")
    assert DIALECT.stream_type.startswith(b"text/event-stream")
    assert frames(to.feed(TextDelta("a")))[0]["type"] == "response.created"


def test_a_trace_stands_in_a_whole_answer() -> None:
    summary = Summary(Usage(1, 1), 2, None, "operator", trace=(Traced("0", "r", "m", "t"),))

    [piece] = whole(TextDelta("a"), Finished(), summary=summary)["lockgate"]["trace"]

    assert piece["text"] == "t"


def test_a_providers_own_id_is_used_where_it_has_the_form() -> None:
    told = streamed(encoder(), Started("resp_68ab"), TextDelta("a"), Finished())

    assert {one["response"]["id"] for one in told if "response" in one} == {"resp_68ab"}
    assert told[2]["item"]["id"].startswith("msg_68ab")


FAILURES: list[tuple[GatewayError, str]] = [
    (StreamBroken("cut"), "server_error"),
    (UpstreamFailed("slow down", "rate_limited"), "rate_limit_exceeded"),
    (UpstreamFailed("used up", "quota"), "insufficient_quota"),
    (UpstreamFailed("long", "context_overflow"), "context_length_exceeded"),
    (UpstreamFailed("busy", "overloaded", said=Said(529)), "server_error"),
    (KeyLimited("slow"), "rate_limit_exceeded"),
    (GatewayError("bug"), "server_error"),
]


@pytest.mark.parametrize(("error", "code"), FAILURES)
def test_a_stream_that_breaks_ends_in_a_failure_with_what_was_said(
    error: GatewayError, code: str
) -> None:
    to = encoder()
    data = to.feed(ThinkingDelta("Hm")) + to.feed(TextDelta("Hel"))
    told = _loads(data + to.fail(error))

    last = told[-1]
    assert last["type"] == "response.failed"
    assert last["sequence_number"] == len(told) - 1
    response = last["response"]
    assert (response["status"], response["error"]["code"]) == ("failed", code)
    assert response["error"]["message"] == error.message
    assert response["output"][-1]["content"][0]["text"] == "Hel"
    assert response["output"][-1]["status"] == "in_progress"


def _loads(data: bytes) -> list[Json]:
    lines = [line for line in data.split(b"\n") if line.startswith(b"data: ")]
    return [orjson.loads(line[6:]) for line in lines]


def test_a_call_that_was_cut_keeps_its_arguments_in_the_failure() -> None:
    to = encoder(tools=[FUNCTION, CUSTOM])
    for event in (
        ToolCallStarted(0, "a", "f"),
        ToolCallDelta(0, '{"a'),
        ToolCallStarted(1, "b", "patch"),
        ToolCallDelta(1, '{"in'),
    ):
        to.feed(event)
    told, failed = _loads(to.fail(StreamBroken("cut")))

    assert (told["type"], failed["type"]) == ("error", "response.failed")
    first, second = failed["response"]["output"]
    assert (first["arguments"], second["input"]) == ('{"a', '{"in')


CREATED = (
    b'event: response.created\ndata: {"type":"response.created","sequence_number":0,'
    b'"response":{"id":"resp_up","status":"in_progress","output":[]}}\n\n'
)
ENDED = b'event: response.completed\ndata: {"type":"response.completed","sequence_number":1}\n\n'


def test_a_relayed_stream_passes_as_it_is_but_for_the_trailer() -> None:
    to = encoder()
    sent = to.feed(Relayed(CREATED, 0)) + to.feed(Finished(raw=ENDED))

    assert sent + to.end(QUIET) == CREATED + ENDED
    assert to.end(TOLD) == b': lockgate {"request_id":"req1"}\n\n' + ENDED


def test_a_relayed_stream_that_breaks_fails_under_its_own_name() -> None:
    to = encoder()
    to.feed(Relayed(CREATED, 0))
    told, failed = _loads(to.fail(StreamBroken("cut")))

    assert (told["type"], told["sequence_number"]) == ("error", 1)
    assert (failed["type"], failed["sequence_number"]) == ("response.failed", 2)
    assert failed["response"]["id"] == "resp_up"
    assert told["error"] == failed["response"]["error"]
    assert (told["code"], told["message"]) == ("server_error", told["error"]["message"])


def test_what_was_asked_is_told_again() -> None:
    asked: dict[str, Json] = {
        "instructions": "Be brief.",
        "temperature": 0.2,
        "top_p": 0.9,
        "max_output_tokens": 99,
        "metadata": {"a": "b"},
        "tools": [FUNCTION],
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "reasoning": {"effort": "low"},
        "text": {"format": {"type": "json_object"}},
        "truncation": "auto",
        "user": "u1",
        "prompt_cache_key": "k",
        "store": True,
    }
    body = whole(TextDelta("a"), Finished(), **asked)

    assert body["tools"] == [{**FUNCTION, "description": None, "strict": None}]
    assert body["reasoning"] == {"effort": "low", "summary": None}
    assert body["text"] == {"format": {"type": "json_object"}, "verbosity": "medium"}
    assert body["store"] is False
    same = asked.keys() - {"tools", "reasoning", "text", "store"}
    assert {name: body[name] for name in same} == {name: asked[name] for name in same}
    assert body["object"] == "response"


ODD: list[dict[str, Json]] = [
    {name: value}
    for name in ("tools", "reasoning", "text", "metadata", "tool_choice", "temperature")
    for value in (7, "odd", [1], {"a": [None]}, True)
]


@pytest.mark.parametrize("odd", ODD)
def test_what_was_asked_oddly_breaks_no_answer(odd: dict[str, Json]) -> None:
    """A relayed request is not read, and its answer may have to be written all the same."""
    asked = {"model": "m", "input": "a", **odd}
    read = DIALECT.decode({"model": "m", "input": "a"}, b"{}")
    made = replace(read, relay=replace(read.relay, body=asked))

    folded = Reply((ToolCall("a", "f", "{}"),), "tool_calls")
    assert orjson.loads(DIALECT.whole(made, folded, QUIET))["status"] == "completed"


def test_the_dialect_is_called_by_its_name() -> None:
    assert (DIALECT.name, call().dialect) == ("openai_responses", "openai_responses")
