"""The Responses surface: its events, whatever the upstream behind it does."""

from __future__ import annotations

import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from techniques.core.json import Json
from tests.conformance.stage import Stage, Streamed
from tests.fakes import script
from tests.fakes.script import Answer, Wait, begin, done, finish, sse, text, usage

EVENTS: TypeAdapter[Json] = TypeAdapter(ResponseStreamEvent)
GRAMMAR = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
]
MESSAGE_HELLO = (script.message_start(3, 1), script.text_opened("Hello"))
ENDS: dict[str, Answer] = {
    "told": sse(begin(), text("Hello"), finish(), usage(3, 1), done()),
    "no_reason": sse(begin(), text("Hello"), done()),
    "no_mark": sse(begin(), text("Hello"), finish()),
    "shared": sse(begin(), script.chunk({"content": "Hello"}, "stop"), done()),
}


def check(answer: Streamed) -> list[Json]:
    """Return the events, each of which has its type twice, its number and the SDK's form."""
    told = answer.said
    assert answer.names == [event["type"] for event in told]
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    for event in told:
        EVENTS.validate_python(event)
    assert answer.dones == 0
    return told


@pytest.mark.case("RSP-01")
@pytest.mark.parametrize("end", ENDS)
def test_what_was_begun_is_closed_however_the_upstream_ends(stage: Stage, end: str) -> None:
    stage.upstream.plays(ENDS[end])

    told = check(stage.responses_stream())

    assert [event["type"] for event in told] == [*GRAMMAR, "response.completed"]
    [message] = told[-1]["response"]["output"]
    assert message["content"][0]["text"] == "Hello"


def made(kind: str, number: int, **fields: Json) -> bytes:
    """Return an event of a Responses upstream, whose data has the response's bare fields."""
    response = {"id": "resp_up", "object": "response", "output": [], **fields}
    return script.event(kind, sequence_number=number, response=response)


CREATED = made("response.created", 0, status="in_progress")
USED = {"input_tokens": 3, "output_tokens": 1, "total_tokens": 4}
COMPLETED = made("response.completed", 1, status="completed", usage=USED)


@pytest.mark.case("RSP-02")
def test_a_native_stream_ends_with_its_last_event_and_no_mark(stage: Stage) -> None:
    stage.upstream.plays(sse(CREATED, COMPLETED, framing="close", end="fin"))

    answer = stage.responses_stream(model="rs-model")

    assert [event["type"] for event in answer.said] == ["response.created", "response.completed"]
    assert answer.dones == 0
    row = stage.row(answer)
    assert (row["outcome"], row["input_tokens"], row["output_tokens"]) == ("ok", 3, 1)


@pytest.mark.case("RSP-02")
def test_a_native_stream_that_lost_its_last_event_is_no_success(stage: Stage) -> None:
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress"}
    added = {"output_index": 0, "item": {**item, "content": []}, "sequence_number": 1}
    begun = script.event("response.output_item.added", **added)
    stage.upstream.plays(sse(CREATED, begun, framing="close", end="fin"))

    answer = stage.responses_stream(model="rs-model")

    assert answer.said[-1]["type"] == "response.failed"
    assert answer.said[-1]["response"]["id"] == "resp_up"
    assert stage.row(answer)["outcome"] != "ok"


@pytest.mark.case("RSP-04")
def test_every_event_names_its_type_and_holds_the_response_where_it_belongs(stage: Stage) -> None:
    stage.upstream.plays(ENDS["told"])

    told = check(stage.responses_stream())

    for event in (told[0], told[1], told[-1]):
        Response.model_validate(event["response"])
        assert event["response"]["id"] == told[0]["response"]["id"]
        assert event.keys() == {"type", "response", "sequence_number"}
    assert [told[0]["response"]["status"], told[-1]["response"]["status"]] == [
        "in_progress",
        "completed",
    ]


@pytest.mark.case("RSP-05")
@pytest.mark.parametrize("end", ["reset", "fin"])
@pytest.mark.parametrize("model", ["oa-model", "an-model"])
def test_a_stream_that_breaks_ends_in_a_failure(stage: Stage, model: str, end: script.End) -> None:
    begun = (begin(), text("Hello")) if model == "oa-model" else MESSAGE_HELLO
    stage.upstream.plays(sse(*begun, Wait(0.05), end=end))

    answer = stage.responses_stream(model=model)

    told = check(answer)
    assert told[-1]["type"] == "response.failed"
    failed = told[-1]["response"]
    assert (failed["status"], failed["error"]["code"]) == ("failed", "server_error")
    assert failed["error"]["message"]
    assert failed["output"][0]["content"][0]["text"] == "Hello"
    assert not any(event["type"] == "response.completed" for event in told)
    assert stage.row(answer)["outcome"] != "ok"


@pytest.mark.case("RSP-05")
def test_a_failure_before_the_first_event_has_its_own_status(stage: Stage) -> None:
    stage.upstream.plays(script.error(400, "no such thing", "invalid_request_error", "odd"))

    answer = stage.responses(stream=True)

    assert answer.status == 400
    assert (answer.json["error"]["message"], answer.json["error"]["code"]) == (
        "no such thing",
        "odd",
    )


@pytest.mark.case("RSP-06")
def test_an_answer_cut_by_its_limit_is_incomplete_and_paid_for(stage: Stage) -> None:
    cut = script.completion("par", reason="length", used=script.counts(9, 16))
    stage.upstream.plays(cut)

    answer = stage.responses(max_output_tokens=16)

    assert answer.status == 200
    Response.model_validate(answer.json)
    assert answer.json["status"] == "incomplete"
    assert answer.json["incomplete_details"] == {"reason": "max_output_tokens"}
    assert answer.json["output"][0]["content"][0]["text"] == "par"
    counted = answer.json["usage"]
    assert (counted["input_tokens"], counted["output_tokens"]) == (9, 16)
    row = stage.row(answer)
    assert (row["input_tokens"], row["output_tokens"], row["outcome"]) == (9, 16, "ok")


@pytest.mark.case("RSP-06")
def test_a_stream_cut_by_its_limit_is_incomplete_and_paid_for(stage: Stage) -> None:
    stage.upstream.plays(sse(begin(), text("par"), finish("length"), usage(9, 16), done()))

    answer = stage.responses_stream(max_output_tokens=16)

    told = check(answer)
    assert told[-1]["type"] == "response.incomplete"
    assert told[-1]["response"]["incomplete_details"] == {"reason": "max_output_tokens"}
    assert told[-1]["response"]["usage"]["output_tokens"] == 16
    row = stage.row(answer)
    assert (row["input_tokens"], row["output_tokens"]) == (9, 16)


@pytest.mark.case("RSP-06")
def test_a_chat_client_is_told_that_a_response_was_cut(stage: Stage) -> None:
    cut: Json = {
        "id": "resp_1",
        "object": "response",
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [{"type": "reasoning", "id": "rs_1", "summary": []}],
        "usage": {"input_tokens": 9, "output_tokens": 16, "total_tokens": 25},
    }
    stage.upstream.plays(script.body(cut))

    answer = stage.chat(model="rs-model", max_completion_tokens=16)

    assert answer.status == 200, answer.body
    [choice] = answer.json["choices"]
    assert not choice["message"]["content"]
    assert choice["finish_reason"] == "length"
    row = stage.row(answer)
    assert (row["input_tokens"], row["output_tokens"]) == (9, 16)
