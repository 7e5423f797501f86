"""What clients of either dialect are shown of a technique at work, and what of it comes back."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from gateway.wire.anthropic import AnthropicMessages
from gateway.wire.dialect import Call, Dialect, Encoder, Summary
from gateway.wire.drafts import draft, without_drafts
from gateway.wire.openai_chat import OpenAIChat
from pricing.usage import Usage
from techniques.core.events import (
    Event,
    Finished,
    Note,
    Provisional,
    Signed,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStarted,
    Traced,
    UsageReported,
)
from techniques.core.json import Json
from techniques.core.reply import replied
from techniques.core.request import Request, Text, Thinking
from tests.gateway.wire.anthropic_calls import BARE
from tests.gateway.wire.anthropic_client import blocks, frames, shape

PIECE = Traced("c1", "candidate", "fast", "It is\n\n4.")
TOLD = {
    "role": "candidate",
    "step": "c1",
    "model": "fast",
    "kind": "text",
    "text": "It is\n\n4.",
}
PROGRESS = Note("progress", {"stage": "sampling"})
DIALECTS: dict[str, Dialect] = {"chat": OpenAIChat(), "messages": AnthropicMessages()}
every_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)


def asked(dialect: Dialect, *turns: Json, **fields: Json) -> Call:
    messages = turns or ({"role": "user", "content": "hi"},)
    body = {"model": "fast", "max_tokens": 9, "messages": list(messages), **fields}
    return dialect.decode(body, orjson.dumps(body))


def encoder(dialect: Dialect) -> Encoder:
    return dialect.encoder(asked(dialect), "req_1", "fast")


def written(dialect: Dialect, *events: Event) -> bytes:
    out = encoder(dialect)
    return b"".join(map(out.feed, events)) + out.end(BARE)


def deltas(raw: bytes) -> list[Json]:
    sent = [line[6:] for line in raw.split(b"\n") if line.startswith(b"data: {")]
    return [orjson.loads(chunk)["choices"][0]["delta"] for chunk in sent]


@every_dialect
def test_progress_is_a_comment_that_begins_nothing(dialect: Dialect) -> None:
    assert encoder(dialect).feed(PROGRESS) == b': progress {"stage":"sampling"}\n\n'


def test_a_chat_client_sees_a_trace_beside_empty_content() -> None:
    said = deltas(written(DIALECTS["chat"], PIECE, TextDelta("4"), Finished()))

    assert said == [
        {"role": "assistant", "content": ""},
        {"content": "", "lockgate": TOLD},
        {"content": "4"},
        {},
    ]


def test_a_messages_client_sees_a_trace_in_comments_that_are_no_part_of_the_message() -> None:
    dialect = DIALECTS["messages"]
    raw = written(dialect, PIECE, TextDelta("4"), PIECE, Finished())

    comment = b": trace " + orjson.dumps(TOLD) + b"\n\n"
    assert raw.startswith(comment)
    assert raw.count(comment) == 2
    assert raw.replace(comment, b"") == written(dialect, TextDelta("4"), Finished())


@every_dialect
def test_a_whole_answer_carries_its_trace_beside_everything_else(dialect: Dialect) -> None:
    reply = replace(replied("4"), id="chatcmpl-1")
    plain = orjson.loads(dialect.whole(asked(dialect), reply, BARE))
    traced = orjson.loads(dialect.whole(asked(dialect), reply, replace(BARE, trace=(PIECE,))))

    assert traced.pop("lockgate") == {"trace": [TOLD]}
    assert traced == plain
    assert "lockgate" not in plain


def test_a_chat_client_sees_drafts_as_reasoning_before_the_models_own() -> None:
    events = (Provisional("5"), Provisional("6"), ThinkingDelta("Hm."), TextDelta("4"), Finished())
    said = deltas(written(DIALECTS["chat"], *events))

    reasoning = "".join(delta.get("reasoning_content", "") for delta in said)
    assert reasoning == draft("5") + draft("6") + "Hm."
    assert "".join(delta.get("content", "") for delta in said) == "4"


def test_a_messages_client_sees_drafts_as_one_block_that_no_model_signed() -> None:
    thought = (ThinkingDelta("Hm."), Signed("c2ln"))
    events = (Provisional("5"), PROGRESS, Provisional("6"), *thought, TextDelta("4"), Finished())

    assert blocks(written(DIALECTS["messages"], *events)) == [
        {"type": "thinking", "thinking": draft("5") + draft("6"), "signature": ""},
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "text", "text": "4"},
    ]


def test_a_draft_before_an_action_is_closed_before_it() -> None:
    call = (ToolCallStarted(0, "t1", "f"), ToolCallDelta(0, "{}"))
    raw = written(DIALECTS["messages"], Provisional("5"), *call, Finished("tool_calls"))

    kinds = ["block_start", "block_delta", "block_stop"]
    assert shape(raw) == ["message_start", *kinds, *kinds, "message_delta", "message_stop"]
    assert frames(raw)[-2]["delta"]["stop_reason"] == "tool_use"


@pytest.mark.parametrize("text", ["", "4", "line\n\n[Lockgate: the best answer so far]\nno"])
def test_drafts_are_taken_out_of_reasoning_and_nothing_else_is(text: str) -> None:
    assert without_drafts(draft(text) + "Hm." + draft("7")) == "Hm."
    assert without_drafts(text) == text


def thinking(text: str, signature: str = "") -> Json:
    return {"type": "thinking", "thinking": text, "signature": signature}


def test_a_draft_that_a_messages_client_sends_back_goes_no_further() -> None:
    said: Json = {"type": "text", "text": "4"}
    own = thinking("Hm.", "c2ln")
    turn = {"role": "assistant", "content": [thinking(draft("5")), own, said]}
    user = {"role": "user", "content": "sure?"}
    relay = asked(DIALECTS["messages"], user, turn, user).relay

    assert relay.raw is None
    assert relay.body["messages"] == [user, {"role": "assistant", "content": [own, said]}, user]
    assert decoded(relay.decode()) == (Thinking("Hm.", "c2ln"), Text("4"))


def decoded(request: Request) -> tuple[object, ...]:
    return request.messages[1].parts


def test_a_turn_that_was_only_drafts_is_none() -> None:
    user = {"role": "user", "content": "sure?"}
    turn = {"role": "assistant", "content": [thinking(draft("5") + draft("6"))]}

    assert asked(DIALECTS["messages"], user, turn, user).relay.body["messages"] == [user, user]


@pytest.mark.parametrize("kept", ["", "Hm."])
def test_a_draft_that_a_chat_client_sends_back_goes_no_further(kept: str) -> None:
    user = {"role": "user", "content": "sure?"}
    turn = {"role": "assistant", "content": "4", "reasoning_content": draft("5") + kept}
    relay = asked(DIALECTS["chat"], user, turn, user).relay

    left = {"reasoning_content": kept} if kept else {}
    assert relay.raw is None
    assert relay.body["messages"] == [user, {"role": "assistant", "content": "4", **left}, user]


@every_dialect
@pytest.mark.parametrize(
    "turn",
    [
        {"role": "user", "content": draft("5")},
        {"role": "assistant", "content": [{"type": "text", "text": draft("5")}]},
        {"role": "assistant", "content": "4", "reasoning_content": None},
        "no turn at all",
    ],
)
def test_a_draft_that_was_quoted_elsewhere_stays(dialect: Dialect, turn: Json) -> None:
    user = {"role": "user", "content": draft("7")}

    assert asked(dialect, user, turn).relay.body["messages"] == [user, turn]


@every_dialect
def test_bytes_without_drafts_are_kept_as_they_came(dialect: Dialect) -> None:
    turn = {"role": "assistant", "content": "4", "reasoning_content": "Hm."}

    assert asked(dialect, turn).relay.raw is not None


@every_dialect
def test_the_answers_usage_and_the_runs_change_places(dialect: Dialect) -> None:
    reply = replied("4", usage=Usage(7, 3))
    run = Summary(Usage(70, 30), 5, "0.1", "operator", {"calls": 5})
    counts = {"calls": 5, "cost_usd": "0.1", "cost_source": "operator"}

    usual, swapped = [
        orjson.loads(dialect.whole(asked(dialect), reply, summary))["usage"]
        for summary in (run, replace(run, total=True))
    ]
    other = usual.pop("lockgate")

    assert swapped.pop("lockgate") == {**usual, **counts}
    assert {**swapped, **counts} == other
    assert usual != swapped


@every_dialect
def test_a_stream_reports_the_usage_that_a_whole_answer_does(dialect: Dialect) -> None:
    run = Summary(Usage(70, 30), 5, "0.1", "operator", {"calls": 5}, total=True)
    call = asked(dialect, stream=True, stream_options={"include_usage": True})
    out = dialect.encoder(call, "req_1", "fast")
    for event in (UsageReported(Usage(7, 3)), TextDelta("4"), Finished()):
        out.feed(event)

    frame = next(line for line in out.end(run).split(b"\n") if b'"usage":' in line)
    whole = orjson.loads(dialect.whole(call, replied("4", usage=Usage(7, 3)), run))
    assert orjson.loads(frame.removeprefix(b"data: "))["usage"] == whole["usage"]
