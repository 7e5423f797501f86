"""What an Anthropic upstream says, and what an Anthropic client is told."""

from __future__ import annotations

import pytest

from techniques.core.json import Json
from tests.conformance.stage import CHAT_TOOLS, Stage
from tests.fakes import script
from tests.fakes.script import (
    Wait,
    begin,
    done,
    event,
    finish,
    message_end,
    message_start,
    overload,
    sse,
    text,
    text_block,
    text_opened,
    usage,
)
from tests.patience import eventually

ATTEMPTS = "lockgate_upstream_attempts_total"
CHAT_VALUES = {"stop", "length", "tool_calls", "content_filter", "function_call"}


@pytest.mark.case("ANT-05")
def test_an_overload_in_mid_answer_is_told_to_a_chat_client(stage: Stage) -> None:
    before = stage.total(ATTEMPTS, outcome="overloaded")
    stage.upstream.plays(sse(message_start(), text_opened("Riv"), Wait(0.02), overload()))

    answer = stage.chat_stream(model="an-model")

    assert answer.joined() == "Riv"
    assert answer.finishes == []
    assert "overloaded" in str(answer.errors[0]).lower()
    assert len(stage.upstream.asked) == 1
    assert stage.row(answer)["outcome"] == "overloaded"
    assert eventually(lambda: stage.total(ATTEMPTS, outcome="overloaded") == before + 1)


@pytest.mark.case("ANT-05")
def test_an_overload_in_mid_answer_is_told_to_a_messages_client(stage: Stage) -> None:
    stage.upstream.plays(sse(message_start(), text_opened("Riv"), Wait(0.02), overload()))

    answer = stage.messages_stream(model="an-model")

    assert answer.block_texts == "Riv"
    assert answer.names[-1] == "error"
    assert answer.said[-1]["error"]["type"] == "overloaded_error"
    assert "message_stop" not in answer.names
    assert len(stage.upstream.asked) == 1


@pytest.mark.case("ANT-06")
@pytest.mark.parametrize("surface", ["chat", "messages"])
def test_an_overload_before_any_text_is_tried_again(stage: Stage, surface: str) -> None:
    stage.upstream.plays(
        sse(message_start(), event("ping"), Wait(0.02), overload()),
        sse(message_start(), text_block("River"), message_end()),
    )

    if surface == "chat":
        answer = stage.chat_stream(model="an-model")
        assert answer.joined() == "River"
        assert answer.finishes == ["stop"]
        assert [delta.get("role") for delta in answer.deltas].count("assistant") == 1
    else:
        answer = stage.messages_stream(model="an-model")
        assert answer.block_texts == "River"
        assert answer.names.count("message_start") == 1

    assert len(stage.upstream.asked) == 2
    outcomes = [row["outcome"] for row in stage.rows(answer.request_id, least=2)]
    assert len(outcomes) == 2
    assert outcomes[1] == "ok" != outcomes[0]


@pytest.mark.case("ANT-07")
def test_pings_and_unknown_events_become_no_chunk(stage: Stage) -> None:
    unknown = event("weather_report", sky="clear")
    stage.upstream.plays(
        sse(
            message_start(),
            event("ping"),
            unknown,
            text_block("River"),
            event("ping"),
            message_end(),
        )
    )

    answer = stage.chat_stream(model="an-model")

    assert answer.joined() == "River"
    assert answer.finishes == ["stop"]
    assert answer.dones == 1
    assert "clear" not in str(answer.said)
    assert all("choices" in told for told in answer.said)


@pytest.mark.case("ANT-08")
def test_usage_from_both_ends_of_a_message_is_put_together(stage: Stage) -> None:
    stage.upstream.plays(sse(message_start(31, 1), text_block("River"), message_end(wrote=17)))

    answer = stage.chat_stream(model="an-model", stream_options={"include_usage": True})

    told = answer.usages[-1]["usage"]
    assert (told["prompt_tokens"], told["completion_tokens"], told["total_tokens"]) == (31, 17, 48)
    row = stage.row(answer)
    assert (row["input_tokens"], row["output_tokens"]) == (31, 17)


@pytest.mark.case("ANT-09")
def test_usage_of_an_openai_upstream_reaches_a_messages_client(stage: Stage) -> None:
    stage.upstream.plays(sse(begin(), text("River"), finish(), usage(19, 6), done()))

    answer = stage.messages_stream()

    assert stage.upstream.asked[0].body["stream_options"] == {"include_usage": True}
    last = next(told for told in answer.said if told["type"] == "message_delta")
    assert last["usage"]["input_tokens"] == 19
    assert last["usage"]["output_tokens"] == 6


@pytest.mark.case("ANT-10")
def test_a_message_stream_has_the_order_and_names_of_its_api(stage: Stage) -> None:
    stage.upstream.plays(sse(begin(), text("Riv"), text("er"), finish(), usage(9, 2), done()))

    answer = stage.messages_stream()

    assert answer.dones == 0
    assert [name for name in answer.names if name != "ping"] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert [told["type"] for told in answer.said] == answer.names


@pytest.mark.case("ANT-24")
@pytest.mark.parametrize("form", ["whole", "stream"])
@pytest.mark.parametrize(
    ("native", "told"),
    [
        ("max_tokens", "length"),
        ("tool_use", "tool_calls"),
        ("refusal", "content_filter"),
        ("stop_sequence", "stop"),
        ("end_turn", "stop"),
        ("model_context_window_exceeded", "length"),
        ("a_reason_of_next_year", "stop"),
    ],
)
def test_stop_reasons_are_told_in_openais_words(
    stage: Stage, native: str, told: str, form: str
) -> None:
    block: Json = {"type": "tool_use", "id": "t1", "name": "look_up", "input": {}}
    calls = native == "tool_use"
    if form == "whole":
        stage.upstream.plays(script.message([block] if calls else "a", native))
        answer = stage.chat(model="an-model", tools=CHAT_TOOLS)
        reason = answer.json["choices"][0]["finish_reason"]
    else:
        opened = event("content_block_start", index=0, content_block=block)
        said = opened + event("content_block_stop", index=0) if calls else text_block("a")
        stage.upstream.plays(sse(message_start(), said, message_end(native)))
        reason = stage.chat_stream(model="an-model", tools=CHAT_TOOLS).finishes[-1]

    assert reason == told
    assert reason in CHAT_VALUES
