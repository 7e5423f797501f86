"""Several choices in one answer, streamed and whole."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from gateway.wire.dialect import Call, Summary
from gateway.wire.openai_chat import OpenAIChat
from pricing.usage import Usage
from techniques.core.events import Choice, Event, Finished, Started, TextDelta
from techniques.core.json import Json
from techniques.core.reply import Reply, replied, unfold
from techniques.core.request import ToolCall

CHAT = OpenAIChat()
RUN = Summary(Usage(70, 30), 5, "0.1", "operator", {"calls": 5})
FIRST = replace(replied("first", usage=Usage(7, 3)), id="chatcmpl-9")
SECOND = replied("second", "length", Usage(7, 2))
THIRD = Reply((ToolCall("t1", "f", '{"a":1}'),), "tool_calls", usage=Usage(7, 1))
REPLY = replace(FIRST, others=(SECOND, THIRD))


def call() -> Call:
    body = {
        "model": "fast",
        "messages": [{}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    return CHAT.decode(body, orjson.dumps(body))


def chunks(*events: Event) -> list[Json]:
    out = CHAT.encoder(call(), "req_1", "fast")
    raw = b"".join(map(out.feed, events)) + out.end(RUN)
    return [orjson.loads(line[6:]) for line in raw.split(b"\n") if line.startswith(b"data: {")]


def of(index: int, said: list[Json]) -> list[Json]:
    choices = [choice for chunk in said for choice in chunk["choices"]]
    return [choice for choice in choices if choice["index"] == index]


def test_each_choice_of_a_stream_begins_with_the_role_and_ends_with_its_reason() -> None:
    said = chunks(*unfold(REPLY))

    for index, reason in enumerate(("stop", "length", "tool_calls")):
        first, *_, last = of(index, said)
        assert first["delta"] == {"role": "assistant", "content": ""}
        assert (last["delta"], last["finish_reason"]) == ({}, reason)
    assert [choice["delta"].get("content") for choice in of(1, said)][1:-1] == ["second"]
    assert of(2, said)[1]["delta"]["tool_calls"][0]["index"] == 0


def test_all_choices_are_of_one_answer() -> None:
    said = chunks(*unfold(REPLY))

    heads = {(chunk["id"], chunk["created"], chunk["model"]) for chunk in said}
    assert [id for id, _, _ in heads] == ["chatcmpl-9"]


def test_a_further_choice_may_come_before_the_first_has_said_anything() -> None:
    first, *others = chunks(
        Started("chatcmpl-9"), Choice(1, TextDelta("b")), TextDelta("a"), Finished()
    )

    assert first["choices"][0]["index"] == 0
    assert {chunk["id"] for chunk in others} == {"chatcmpl-9"}


def test_a_whole_answer_lists_its_choices() -> None:
    choices = orjson.loads(CHAT.whole(call(), REPLY, RUN))["choices"]

    assert [choice["index"] for choice in choices] == [0, 1, 2]
    assert [choice["message"]["content"] for choice in choices] == ["first", "second", None]
    assert [choice["finish_reason"] for choice in choices] == ["stop", "length", "tool_calls"]


@pytest.mark.parametrize("total", [False, True])
def test_the_usage_is_that_of_all_choices(*, total: bool) -> None:
    run = replace(RUN, total=total)
    out = CHAT.encoder(call(), "req_1", "fast")
    for event in unfold(REPLY):
        out.feed(event)
    line = next(line for line in out.end(run).split(b"\n") if b'"usage":{' in line)

    usage = orjson.loads(CHAT.whole(call(), REPLY, run))["usage"]
    assert orjson.loads(line.removeprefix(b"data: "))["usage"] == usage
    own = usage["lockgate"] if total else usage
    assert (own["prompt_tokens"], own["completion_tokens"]) == (21, 6)
