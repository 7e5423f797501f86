"""What Ollama's clients are told of an answer, in lines and in one object."""

from __future__ import annotations

from datetime import datetime

import orjson
import pytest

from gateway.wire.dialect import Call, Dialect, Encoder, Summary, Times
from gateway.wire.ollama import OllamaChat, OllamaGenerate
from pricing.usage import Usage
from techniques.core.errors import (
    BudgetExhausted,
    Denied,
    GatewayError,
    HeldBack,
    RequestRejected,
    StreamBroken,
    Unauthenticated,
    Unavailable,
    UnknownModel,
    UpstreamFailed,
)
from techniques.core.events import (
    Event,
    Finished,
    FinishReason,
    Note,
    Provisional,
    RefusalDelta,
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
from techniques.core.reply import Reply, unfold
from techniques.core.request import Refusal, Text, Thinking, ToolCall

DIALECTS: dict[str, Dialect] = {"chat": OllamaChat(), "generate": OllamaGenerate()}
both = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
RUN = Usage(input_tokens=120, output_tokens=40)
SUMMARY = Summary(RUN, 1, None, "unknown", times=Times(3.0, 1.0, 0.25))
LOGPROBS = {"content": [{"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": []}]}
CALLS = (
    ToolCallStarted(0, "a", "add"),
    ToolCallDelta(0, '{"x"'),
    ToolCallDelta(0, ":1}"),
    ToolCallStarted(1, "b", "now"),
)
CALLED: list[Json] = [
    {"id": "a", "function": {"index": 0, "name": "add", "arguments": {"x": 1}}},
    {"id": "b", "function": {"index": 1, "name": "now", "arguments": {}}},
]


def asked(dialect: Dialect, **fields: Json) -> Call:
    body = {"model": "fast:latest", "prompt": "hi", "messages": [{"role": "user"}], **fields}
    return dialect.decode(body, b"")


def encoder(dialect: Dialect, **fields: Json) -> Encoder:
    return dialect.encoder(asked(dialect, **fields), "r1", "fast")


def lines(raw: bytes) -> list[Json]:
    assert raw == b"" or raw.endswith(b"\n")
    return [orjson.loads(line) for line in raw.split(b"\n")[:-1]]


def told(dialect: Dialect, *events: Event, summary: Summary = SUMMARY) -> list[Json]:
    out = encoder(dialect)
    return lines(b"".join(map(out.feed, events)) + out.end(summary))


def text_of(line: Json) -> str:
    text: str = line["message"]["content"] if "message" in line else line["response"]
    return text


def whole(dialect: Dialect, reply: Reply, summary: Summary = SUMMARY, **fields: Json) -> Json:
    call = asked(dialect, **{"stream": False, **fields})
    return orjson.loads(dialect.whole(call, reply, summary))


@both
def test_each_piece_is_a_line_and_the_last_one_is_done(dialect: Dialect) -> None:
    said = told(dialect, Started("x", "real"), TextDelta("Hel"), TextDelta("lo"), Finished())

    assert [text_of(line) for line in said] == ["Hel", "lo", ""]
    assert [line["done"] for line in said] == [False, False, True]
    assert {line["model"] for line in said} == {"fast:latest"}
    assert all(datetime.fromisoformat(line["created_at"]) for line in said)
    assert said[-1]["done_reason"] == "stop"


def test_a_message_has_a_role() -> None:
    said = told(DIALECTS["chat"], TextDelta("a"), ThinkingDelta("b"), *CALLS, Finished())

    assert {line["message"]["role"] for line in said} == {"assistant"}


@both
def test_reasoning_stands_beside_an_empty_text(dialect: Dialect) -> None:
    first, *_ = told(dialect, ThinkingDelta("hm"), Signed("s"), TextDelta("4"), Finished())

    assert text_of(first) == ""
    assert (first.get("message") or first)["thinking"] == "hm"


@both
def test_what_says_nothing_is_no_line(dialect: Dialect) -> None:
    silent: tuple[Event, ...] = (
        Started(),
        ThinkingDelta(""),
        Signed("s"),
        Warned("x"),
        UsageReported(RUN),
    )

    assert b"".join(map(encoder(dialect).feed, silent)) == b""


def test_tool_calls_come_whole_in_one_line_before_the_last() -> None:
    *before, last = told(DIALECTS["chat"], TextDelta("so"), *CALLS, Finished("tool_calls"))

    assert [line["message"].get("tool_calls") for line in before] == [None, CALLED]
    assert "tool_calls" not in last["message"]
    assert (last["done"], last["done_reason"]) == (True, "stop")


def test_arguments_that_are_no_object_are_shown_and_not_lost() -> None:
    broken = (ToolCallStarted(0, "a", "add"), ToolCallDelta(0, '{"x'))

    first, _ = told(DIALECTS["chat"], *broken, Finished("tool_calls"))

    (call,) = first["message"]["tool_calls"]
    assert call["function"]["arguments"] == {"INVALID_JSON": '{"x'}


@both
@pytest.mark.parametrize(
    ("reason", "word"),
    [
        ("stop", "stop"),
        ("stop_sequence", "stop"),
        ("length", "length"),
        ("tool_calls", "stop"),
        ("content_filter", "content_filter"),
        ("refusal", "content_filter"),
        ("pause", "stop"),
    ],
)
def test_why_it_ended_is_said_in_ollamas_words(
    dialect: Dialect, reason: FinishReason, word: str
) -> None:
    assert told(dialect, TextDelta("a"), Finished(reason))[-1]["done_reason"] == word
    assert whole(dialect, Reply((Text("a"),), reason))["done_reason"] == word


@both
def test_the_last_line_counts_the_answers_own_tokens_and_what_time_it_took(
    dialect: Dialect,
) -> None:
    usage = UsageReported(Usage(input_tokens=12, output_tokens=4))

    last = told(dialect, TextDelta("a"), usage, Finished())[-1]

    assert (last["prompt_eval_count"], last["eval_count"]) == (12, 4)
    assert last["total_duration"] == 3_000_000_000
    assert last["load_duration"] == 250_000_000  # it was held at a rate limit
    assert last["prompt_eval_duration"] == 750_000_000
    assert last["eval_duration"] == 2_000_000_000


@both
def test_of_an_answer_that_came_at_once_nobody_saw_the_first_token(dialect: Dialect) -> None:
    last = whole(dialect, Reply((Text("a"),), usage=RUN))

    assert last["prompt_eval_duration"] == 0
    assert last["load_duration"] + last["eval_duration"] == last["total_duration"]


@both
@pytest.mark.parametrize("times", [Times(), Times(1.0, None, 2.0), Times(1.0, 0.5, 0.9)])
def test_no_time_is_less_than_none(dialect: Dialect, times: Times) -> None:
    summary = Summary(RUN, 1, None, "unknown", times=times)

    for last in (told(dialect, Finished(), summary=summary)[-1], whole(dialect, Reply(), summary)):
        parts = [last[f"{name}_duration"] for name in ("load", "prompt_eval", "eval")]
        assert all(part >= 0 for part in parts)
        assert sum(parts) == last["total_duration"]


@both
def test_tokens_that_nobody_counted_are_those_of_the_ledger(dialect: Dialect) -> None:
    last = told(dialect, TextDelta("a"), Finished())[-1]

    assert (last["prompt_eval_count"], last["eval_count"]) == (120, 40)


@both
def test_what_a_run_came_to_is_in_the_last_line(dialect: Dialect) -> None:
    trailer = {"calls": 3, "technique": "cisc"}
    summary = Summary(RUN, 3, "0.1", "book", trailer)
    usage = UsageReported(Usage(input_tokens=12, output_tokens=4))

    *before, last = told(dialect, TextDelta("a"), usage, Finished(), summary=summary)

    run = {"calls": 3, "technique": "cisc", "prompt_eval_count": 120, "eval_count": 40}
    assert last["lockgate"] == run
    assert not any("lockgate" in line for line in before)
    assert "lockgate" not in told(dialect, Finished())[-1]


@both
def test_who_bills_by_the_counts_may_have_those_of_all_calls(dialect: Dialect) -> None:
    summary = Summary(RUN, 3, None, "unknown", total=True)
    usage = UsageReported(Usage(input_tokens=12, output_tokens=4))

    last = told(dialect, usage, Finished(), summary=summary)[-1]

    assert (last["prompt_eval_count"], last["eval_count"]) == (120, 40)


@both
def test_a_line_that_only_keeps_alive_says_nothing(dialect: Dialect) -> None:
    (ping,) = lines(encoder(dialect).ping())
    (held,) = lines(encoder(dialect).held({"state": "held", "eta_ms": 5}))

    assert (text_of(ping), ping["done"]) == ("", False)
    assert (text_of(held), held["done"]) == ("", False)
    assert held["lockgate"] == {"state": "held", "eta_ms": 5}
    assert "lockgate" not in ping


@both
def test_what_is_shown_of_a_technique_stands_beside_the_answer(dialect: Dialect) -> None:
    traced = Traced("c1", "candidate", "fast", "It is 4.")
    progress = Note("progress", {"stage": "sampling"})

    trace, stage, draft, *_ = told(dialect, traced, progress, Provisional("4"), Finished())

    assert trace["lockgate"]["text"] == "It is 4."
    assert stage["lockgate"] == {"progress": {"stage": "sampling"}}
    assert "4" in (draft.get("message") or draft)["thinking"]
    assert [text_of(line) for line in (trace, stage, draft)] == ["", "", ""]


@both
def test_a_whole_answer_has_its_trace(dialect: Dialect) -> None:
    piece = Traced("c1", "candidate", "fast", "It is 4.")
    summary = Summary(RUN, 1, None, "unknown", {"calls": 1}, (piece,))

    answer = whole(dialect, Reply((Text("4"),)), summary)

    assert answer["lockgate"]["trace"][0]["text"] == "It is 4."
    assert answer["lockgate"]["calls"] == 1


@both
def test_log_probabilities_stand_beside_their_text(dialect: Dialect) -> None:
    first, _ = told(dialect, TextDelta("a", LOGPROBS), Finished())
    answer = whole(dialect, Reply((Text("a"),), logprobs=LOGPROBS))

    assert first["logprobs"] == answer["logprobs"] == LOGPROBS["content"]


@pytest.mark.parametrize(("before", "shown"), [("Well", "Well\n\nNo, no."), ("", "No, no.")])
def test_a_refusal_stands_apart_from_the_text_before_it(before: str, shown: str) -> None:
    """As where the provider tells why its model broke off."""
    events = (TextDelta(before), RefusalDelta("No, "), RefusalDelta("no."), Finished("refusal"))

    streamed = "".join(map(text_of, told(DIALECTS["chat"], *events)))

    parts = (Text(before), Refusal("No, no."))
    assert streamed == text_of(whole(DIALECTS["chat"], Reply(parts, "refusal"))) == shown


def test_a_refusal_is_the_text_there_is() -> None:
    first, last = told(DIALECTS["chat"], RefusalDelta("No."), Finished("refusal"))

    assert text_of(first) == "No."
    assert last["done_reason"] == "content_filter"
    assert text_of(whole(DIALECTS["chat"], Reply((Refusal("No."),), "refusal"))) == "No."


@both
def test_an_answer_in_one_object_says_what_its_lines_say(dialect: Dialect) -> None:
    reply = Reply((Thinking("hm"), Text("Hello"), ToolCall("a", "add", "{}")), usage=RUN)

    streamed = told(dialect, *unfold(reply))
    answer = whole(dialect, reply)

    assert text_of(answer) == "".join(map(text_of, streamed)) == "Hello"
    assert (answer.get("message") or answer)["thinking"] == "hm"
    assert answer.keys() == streamed[-1].keys() | ({"thinking"} if "response" in answer else set())


def test_a_message_without_thinking_or_calls_has_no_such_fields() -> None:
    answer = whole(DIALECTS["chat"], Reply((Text("Hello"),)))

    assert answer["message"] == {"role": "assistant", "content": "Hello"}


def test_a_generated_answer_remembers_nothing() -> None:
    assert told(DIALECTS["generate"], Finished())[-1]["context"] == []
    assert "context" not in told(DIALECTS["chat"], Finished())[-1]


@both
@pytest.mark.parametrize(
    ("keep_alive", "word"),
    [
        (None, "load"),
        ("5m", "load"),
        (-1, "load"),
        (False, "load"),
        (0, "unload"),
        (0.0, "unload"),
        ("0", "unload"),
        ("0s", "unload"),
        ("0.0ms", "unload"),
        ("10m", "load"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_who_asked_nothing_is_told_that_the_model_is_there(
    dialect: Dialect, keep_alive: Json, word: str, *, stream: bool
) -> None:
    fields = {"messages": [], "prompt": "", "keep_alive": keep_alive, "stream": stream}
    summary = Summary(Usage(), 0, None, "unknown")
    out = encoder(dialect, **fields)

    (line,) = lines(out.feed(Finished()) + out.end(summary))
    answer = whole(dialect, Reply(), summary, **fields)

    for said in (line, answer):
        assert (said["done"], said["done_reason"], text_of(said)) == (True, word, "")
        assert "eval_count" not in said


@both
@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (UnknownModel("x", name="nope"), 404, "model 'nope' not found"),
        (UnknownModel("There is none."), 404, "There is none."),
        (RequestRejected("Wrong."), 400, "Wrong."),
        (Unauthenticated("No key."), 401, "No key."),
        (Denied("Not you."), 403, "Not you."),
        (BudgetExhausted("All spent."), 402, "All spent."),
        (HeldBack("The limit is reached.", retry_after=7.3), 429, "The limit is reached."),
        (Unavailable("Stopping."), 503, "Stopping."),
        (UpstreamFailed("It broke.", "server"), 502, "It broke."),
        (GatewayError("The gateway has failed."), 500, "The gateway has failed."),
    ],
)
def test_a_failure_is_a_text(dialect: Dialect, error: GatewayError, status: int, text: str) -> None:
    failure = dialect.failure(error)

    assert (failure.status, orjson.loads(failure.body)) == (status, {"error": text})


def test_a_failure_says_when_to_try_again() -> None:
    headers = DIALECTS["chat"].failure(HeldBack("x", retry_after=7.3)).headers

    assert headers["retry-after"] == "8"


@both
def test_a_failure_in_the_stream_is_its_last_line_and_nothing_is_done(dialect: Dialect) -> None:
    out = encoder(dialect)

    *before, last = lines(out.feed(TextDelta("a")) + out.fail(StreamBroken("It broke.")))

    assert last == {"error": "It broke."}
    assert not any(line["done"] for line in before)


@both
def test_no_text_ends_a_line_wherever_its_client_sees_ends(dialect: Dialect) -> None:
    every = "".join(map(chr, range(0x2100))).replace("\n", "")
    ends = [char for char in every if len(f"a{char}b".splitlines()) > 1]
    text = "".join(f"{end}é" for end in ends)
    out = encoder(dialect, model=f"fast\u2028{text}")

    raw = out.feed(TextDelta(text)) + out.ping() + out.end(SUMMARY) + out.fail(GatewayError(text))

    first, *_, last = raw.decode().splitlines()
    assert len(raw.decode().splitlines()) == 4
    assert "\u2028" in ends
    assert text_of(orjson.loads(first)) == text
    assert orjson.loads(last) == {"error": text}
