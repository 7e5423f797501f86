from __future__ import annotations

from typing import Any

import orjson
import pytest

from gateway.wire.dialect import Call, Encoder, Summary
from gateway.wire.openai_chat import OpenAIChat
from pricing.usage import Usage
from techniques.core.errors import StreamBroken
from techniques.core.events import (
    BlockAdded,
    Choice,
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
    UsageReported,
    Warned,
)
from techniques.core.json import Json
from techniques.core.reply import Reply, replied
from techniques.core.request import Opaque, Refusal, Text, Thinking, ToolCall

HEAD = ("id", "object", "created", "model", "system_fingerprint")
DONE = b"data: [DONE]\n\n"
QUIET = Summary(Usage(10, 5), 1, "0.1", "operator")
TOLD = Summary(Usage(30, 15), 3, "0.3", "operator", {"calls": 3})
REASONS: list[tuple[FinishReason, str]] = [
    ("stop", "stop"),
    ("stop_sequence", "stop"),
    ("length", "length"),
    ("tool_calls", "tool_calls"),
    ("content_filter", "content_filter"),
    ("refusal", "content_filter"),
    ("pause", "stop"),
]


def call(*, usage: bool = False, legacy: bool = False) -> Call:
    body: dict[str, Any] = {"model": "fast", "messages": [{}], "stream": True}
    if usage:
        body["stream_options"] = {"include_usage": True}
    if legacy:
        body["functions"] = [{"name": "f"}]
    return OpenAIChat().decode(body, b"")


def encoder(*, usage: bool = False, legacy: bool = False) -> Encoder:
    return OpenAIChat().encoder(call(usage=usage, legacy=legacy), "req_1", "fast")


def chunks(data: bytes) -> list[Any]:
    events = [event for event in data.split(b"\n\n") if event.startswith(b"data: {")]
    return [orjson.loads(event[6:]) for event in events]


def stream(to: Encoder, *events: Event, summary: Summary = QUIET) -> bytes:
    return b"".join(map(to.feed, events)) + to.end(summary)


def deltas(to: Encoder, *events: Event) -> list[Any]:
    return [chunk["choices"][0]["delta"] for chunk in chunks(stream(to, *events))]


def test_a_stream_begins_with_the_role_and_ends_with_a_reason_and_the_mark() -> None:
    sent = stream(encoder(), Started("msg_1"), TextDelta("Hi"), TextDelta("!"), Finished())
    said = chunks(sent)

    assert [chunk["choices"][0]["delta"] for chunk in said] == [
        {"role": "assistant", "content": ""},
        {"content": "Hi"},
        {"content": "!"},
        {},
    ]
    assert [chunk["choices"][0]["finish_reason"] for chunk in said] == [None, None, None, "stop"]
    assert {(chunk["id"], chunk["object"], chunk["model"]) for chunk in said} == {
        ("chatcmpl-req_1", "chat.completion.chunk", "fast")
    }
    assert sent.endswith(DONE)
    assert sent.count(b"[DONE]") == 1


def test_a_providers_own_id_is_used_where_it_has_the_form() -> None:
    said = chunks(stream(encoder(), Started("chatcmpl-9"), TextDelta("Hi"), Finished()))

    assert {chunk["id"] for chunk in said} == {"chatcmpl-9"}


@pytest.mark.parametrize("before", [(), (Provisional("so far"),)])
def test_every_chunk_has_the_same_head(before: tuple[Event, ...]) -> None:
    events = (Started("chatcmpl-9", "m", "fp_1"), TextDelta("Hi"), Finished())
    other = Choice(1, Started("chatcmpl-8", "m", "fp_2")), Choice(1, TextDelta("Ho"))
    said = chunks(stream(encoder(usage=True), *before, *events[:2], *other, *events[2:]))

    heads = [{name: chunk[name] for name in HEAD} for chunk in said]
    assert heads == [heads[0]] * len(said)
    assert heads[0]["system_fingerprint"] == (None if before else "fp_1")


@pytest.mark.parametrize(("reason", "told"), REASONS)
def test_only_openais_reasons_are_told_ant_24(reason: FinishReason, told: str) -> None:
    said = chunks(stream(encoder(), TextDelta("a"), Finished(reason)))
    whole = orjson.loads(OpenAIChat().whole(call(), replied("a", reason), QUIET))

    assert said[-1]["choices"][0]["finish_reason"] == told
    assert whole["choices"][0]["finish_reason"] == told


def test_thinking_refusals_and_logprobs_are_told_par_06_rsn_03() -> None:
    logprobs = {"content": [{"token": "a", "logprob": -0.1}]}
    events = (ThinkingDelta("why"), RefusalDelta("no"), TextDelta("a", logprobs), Finished())
    said = chunks(stream(encoder(), *events))

    assert [chunk["choices"][0]["delta"] for chunk in said[1:-1]] == [
        {"reasoning_content": "why"},
        {"refusal": "no"},
        {"content": "a"},
    ]
    assert [chunk["choices"][0]["logprobs"] for chunk in said] == [None, None, None, logprobs, None]


@pytest.mark.parametrize("asked", [{"effort": "low"}, {"max_tokens": 900}, {"enabled": True}, {}])
def test_who_asks_in_openrouters_words_is_told_in_them(asked: dict[str, Any]) -> None:
    body = {"model": "fast", "messages": [{}], "reasoning": asked}
    told = {"reasoning_content": "why", "reasoning": "why"}
    to = OpenAIChat().encoder(OpenAIChat().decode({**body, "stream": True}, b""), "req_1", "fast")

    assert deltas(to, ThinkingDelta("why"), TextDelta("a"), Finished())[1:3] == [
        told,
        {"content": "a"},
    ]
    plain = OpenAIChat().decode(body, b"")
    sent = OpenAIChat().whole(plain, Reply((Thinking("why"), Text("a"))), QUIET)
    message = orjson.loads(sent)["choices"][0]["message"]
    assert {name: message[name] for name in told} == told


def details(*pieces: Json, dialect: str = "openai_chat") -> Opaque:
    return Opaque(dialect, {"reasoning_details": list(pieces)}, thinking=True)


def test_what_a_provider_wants_back_of_its_reasoning_is_handed_on() -> None:
    events = (
        ThinkingDelta("why"),
        BlockAdded(details({"index": 0})),
        BlockAdded(details({"index": 9}, dialect="other")),
        BlockAdded(Opaque("openai_chat", {"type": "novel"})),
        TextDelta("a"),
        Finished(),
    )
    said = chunks(stream(encoder(), *events))

    assert [chunk["choices"][0]["delta"] for chunk in said[1:-1]] == [
        {"reasoning_content": "why"},
        {"reasoning_details": [{"index": 0}]},
        {"content": "a"},
    ]


def test_in_a_whole_answer_it_is_one_list() -> None:
    parts = (details({"index": 0}), Thinking("why"), details({"index": 1}), Text("ok"))
    other = details({"index": 9}, dialect="other")
    message = whole(Reply((*parts, other)))["choices"][0]["message"]

    assert message["reasoning_details"] == [{"index": 0}, {"index": 1}]
    assert (message["reasoning_content"], message["content"]) == ("why", "ok")


def test_calls_are_told_piece_by_piece() -> None:
    events = (
        ToolCallStarted(0, "a1", "f"),
        ToolCallDelta(0, '{"x":'),
        ToolCallDelta(0, "1}"),
        ToolCallStarted(1, "a2", "g"),
        Finished("tool_calls"),
    )
    pieces = [delta["tool_calls"][0] for delta in deltas(encoder(), *events)[1:-1]]

    assert pieces == [
        {"index": 0, "id": "a1", "type": "function", "function": {"name": "f", "arguments": ""}},
        {"index": 0, "function": {"arguments": '{"x":'}},
        {"index": 0, "function": {"arguments": "1}"}},
        {"index": 1, "id": "a2", "type": "function", "function": {"name": "g", "arguments": ""}},
        {"index": 1, "function": {"arguments": "{}"}},
    ]


def test_an_old_client_is_told_of_one_function_call_tool_10() -> None:
    events = (ToolCallStarted(0, "a1", "f"), ToolCallDelta(0, "{}"), ToolCallStarted(1, "a2", "g"))
    said = chunks(stream(encoder(legacy=True), *events, Finished("tool_calls")))

    assert [chunk["choices"][0]["delta"] for chunk in said[1:-1]] == [
        {"function_call": {"name": "f", "arguments": ""}},
        {"function_call": {"arguments": "{}"}},
    ]
    assert said[-1]["choices"][0]["finish_reason"] == "function_call"


@pytest.mark.parametrize(
    "event",
    [
        Signed("c2ln"),
        Redacted("x"),
        BlockAdded(Opaque("anthropic", {})),
        Warned("w"),
        Note("votes", {}),
        Started("m"),
        UsageReported(Usage(1, 1)),
    ],
)
def test_what_this_api_has_no_word_for_is_not_told(event: Event) -> None:
    assert encoder().feed(event) == b""


def test_progress_and_pings_are_comments() -> None:
    assert encoder().feed(Note("progress", {"done": 1})) == b': progress {"done":1}\n\n'
    assert encoder().ping().startswith(b":")


@pytest.mark.parametrize("asked", [True, False])
def test_usage_comes_last_and_only_when_asked_for_use_01_use_02(asked: bool) -> None:  # noqa: FBT001
    events = (TextDelta("a"), UsageReported(Usage(7, 3, cache_read_tokens=2)), Finished())
    said = chunks(stream(encoder(usage=asked), *events))
    counted = [chunk for chunk in said if chunk.get("usage")]

    assert len(counted) == asked
    if asked:
        assert counted == [said[-1]]
        assert counted[0]["choices"] == []
        assert counted[0]["usage"]["total_tokens"] == 10
        assert counted[0]["usage"]["prompt_tokens_details"]["cached_tokens"] == 2
        assert "lockgate" not in counted[0]["usage"]


def test_the_run_is_told_beside_the_answers_usage_and_in_a_comment() -> None:
    events = (TextDelta("a"), UsageReported(Usage(10, 5)), Finished())
    sent = stream(encoder(usage=True), *events, summary=TOLD)
    usage = chunks(sent)[-1]["usage"]

    assert (usage["total_tokens"], usage["lockgate"]["total_tokens"]) == (15, 45)
    assert (usage["lockgate"]["calls"], usage["lockgate"]["cost_usd"]) == (3, "0.3")
    assert sent.endswith(b': lockgate {"calls":3}\n\n' + DONE)


@pytest.mark.parametrize("mark", [b"data:[DONE]\r\n\r\n", b""])
def test_relayed_bytes_pass_and_end_as_the_provider_did(mark: bytes) -> None:
    events = (Started("c1"), Relayed(b"data: {}\n\n"), Finished("stop", raw=mark))

    assert stream(encoder(usage=True), *events) == b"data: {}\n\n" + (mark or DONE)
    assert stream(encoder(), *events, summary=TOLD) == (
        b'data: {}\n\n: lockgate {"calls":3}\n\n' + (mark or DONE)
    )


def test_a_failure_after_text_is_an_error_and_no_end_sse_12() -> None:
    sent = encoder().fail(StreamBroken("It ended early."))

    assert chunks(sent)[0]["error"]["message"] == "It ended early."
    assert b"[DONE]" not in sent


def whole(reply: Reply, *, legacy: bool = False, summary: Summary = QUIET) -> Any:
    return orjson.loads(OpenAIChat().whole(call(legacy=legacy), reply, summary))


def test_a_whole_answer_has_every_field() -> None:
    answer = whole(
        Reply((Thinking("why"), Text("ok")), usage=Usage(7, 3), id="chatcmpl-9", model="m")
    )

    assert (answer["id"], answer["object"], answer["model"]) == (
        "chatcmpl-9",
        "chat.completion",
        "m",
    )
    assert answer["choices"] == [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "ok",
                "refusal": None,
                "reasoning_content": "why",
            },
            "logprobs": None,
            "finish_reason": "stop",
        }
    ]
    assert answer["usage"]["completion_tokens"] == 3
    assert "lockgate" not in answer["usage"]


def test_a_whole_run_is_told_beside_the_usage() -> None:
    answer = whole(replied("ok", usage=Usage(10, 5)), summary=TOLD)

    assert answer["usage"]["total_tokens"] == 15
    assert answer["usage"]["lockgate"]["total_tokens"] == 45
    assert answer["id"].startswith("chatcmpl-")
    assert answer["model"] == "fast"


@pytest.mark.parametrize(
    ("reply", "content"),
    [
        (Reply((ToolCall("a1", "f", ""),), "tool_calls"), None),
        (Reply((Text("see"), ToolCall("a1", "f", "")), "tool_calls"), "see"),
        (Reply((Refusal("no"),)), None),
        (Reply(), ""),
    ],
)
def test_content_is_null_where_something_else_was_said(reply: Reply, content: str | None) -> None:
    message = whole(reply)["choices"][0]["message"]

    assert message["content"] == content
    assert message["refusal"] == (reply.refusal or None)
    for written in message.get("tool_calls", ()):
        assert written["function"]["arguments"] == "{}"


def test_an_old_clients_whole_answer_has_a_function_call_tool_10() -> None:
    choice = whole(Reply((ToolCall("a1", "f", '{"x":1}'),), "tool_calls"), legacy=True)["choices"][
        0
    ]

    assert choice["message"]["function_call"] == {"name": "f", "arguments": '{"x":1}'}
    assert choice["finish_reason"] == "function_call"
