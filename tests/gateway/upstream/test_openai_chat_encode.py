from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gateway.upstream.families import thinks_of
from techniques.core.capabilities import Capabilities, Prefill
from techniques.core.errors import RequestRejected
from techniques.core.events import Warned
from techniques.core.json import JsonObject
from techniques.core.request import (
    Audio,
    Document,
    Image,
    Message,
    Opaque,
    RedactedThinking,
    Refusal,
    ResponseFormat,
    Sampling,
    Text,
    Thinking,
    ThinkingWish,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    said,
)
from tests.gateway.upstream.openai_chat_bytes import OPENAI, TARGET
from tests.gateway.upstream.openai_chat_calls import (
    ASKED,
    neutral,
    turns,
    written,
)

FUNCTION = Tool("f", "does f", {"type": "object"})
PICTURE = Image(data="iVBORw0KGgo=", media_type="image/png")
MARK = {"type": "ephemeral"}


def test_the_call_has_a_path_and_a_bearer_credential() -> None:
    assert OPENAI.encode(neutral(), TARGET).path == "/chat/completions"
    assert OPENAI.authorization("k") == {"authorization": "Bearer k"}
    assert OPENAI.authorization("") == {}


def test_every_sampling_field_is_written() -> None:
    sampling = Sampling(0.5, 0.9, 40, 64, ("X",), 7, 1, logprobs=True)

    sampling = replace(sampling, top_logprobs=2, presence_penalty=0.1, frequency_penalty=0.2)

    body, _ = written(neutral(sampling=sampling, dialect="openai_chat"))

    assert {name: body[name] for name in body if name not in ASKED} == {
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 40,
        "max_tokens": 64,
        "stop": ["X"],
        "seed": 7,
        "logprobs": True,
        "top_logprobs": 2,
        "presence_penalty": 0.1,
        "frequency_penalty": 0.2,
    }


def test_several_choices_cannot_be_translated() -> None:
    with pytest.raises(RequestRejected) as caught:
        OPENAI.encode(neutral(sampling=Sampling(n=2)), TARGET)
    assert caught.value.param == "n"


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (ToolChoice("auto", parallel=False), {"parallel_tool_calls": False}),
        (ToolChoice("none"), {"tool_choice": "none"}),
        (ToolChoice("required"), {"tool_choice": "required"}),
        (
            ToolChoice("named", "f"),
            {"tool_choice": {"type": "function", "function": {"name": "f"}}},
        ),
    ],
)
def test_tools_and_how_to_choose_them_are_written_ant_15(
    choice: ToolChoice, expected: dict[str, Any]
) -> None:
    body, _ = written(neutral(tools=(FUNCTION,), tool_choice=choice))
    function = {"name": "f", "description": "does f", "parameters": {"type": "object"}}

    assert body.pop("tools") == [{"type": "function", "function": function}]
    assert body == {**ASKED, "model": "host-model-1", **expected}


CLOSED = {
    "type": "object",
    "properties": {"a": {"type": "array", "items": {"type": "integer"}}},
    "required": ["a"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("dialect", "schema", "strict"),
    [
        ("anthropic", CLOSED, True),
        ("anthropic", {**CLOSED, "required": []}, None),
        ("anthropic", {"type": "object"}, None),
        ("anthropic", {**CLOSED, "properties": {"a": {"type": "object"}}}, None),
        ("openai_chat", CLOSED, None),
    ],
)
def test_a_schema_that_was_enforced_stays_so_where_strict_mode_takes_it(
    dialect: str, schema: dict[str, Any], strict: object
) -> None:
    wanted = ResponseFormat("json_schema", schema)
    body, _ = written(neutral(response_format=wanted, dialect=dialect))

    assert body["response_format"]["json_schema"].get("strict") is strict


def test_a_schema_is_written_with_a_name() -> None:
    wanted = ResponseFormat("json_schema", {"type": "object"}, strict=True)
    schema = {"name": "answer", "schema": {"type": "object"}, "strict": True}
    body, _ = written(neutral(response_format=wanted))

    assert body["response_format"] == {"type": "json_schema", "json_schema": schema}


@pytest.mark.parametrize(
    ("wish", "effort"),
    [
        (ThinkingWish(effort="minimal"), "minimal"),
        (ThinkingWish("on", 1024), "low"),
        (ThinkingWish("on", 4096), "medium"),
        (ThinkingWish("on", 32000), "high"),
        (ThinkingWish("off"), None),
        (ThinkingWish("adaptive"), None),
    ],
)
def test_a_wish_to_think_becomes_an_effort(wish: ThinkingWish, effort: str | None) -> None:
    assert written(neutral(thinking=wish))[0].get("reasoning_effort") == effort
    assert written(neutral(), replace(TARGET, thinking=wish))[0].get("reasoning_effort") == effort


def test_content_of_every_kind_is_written() -> None:
    parts = (
        Text("see"),
        PICTURE,
        Image(url="https://x.test/a.png", detail="low"),
        Document(data="JVBERg==", media_type="application/pdf", name="a.pdf"),
        Audio("UklGRg==", "wav"),
        Opaque("openai_chat", {"type": "new", "x": 1}),
    )

    assert turns(Message("user", parts), dialect="openai_chat")[0]["content"] == [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
        {"type": "image_url", "image_url": {"url": "https://x.test/a.png", "detail": "low"}},
        {
            "type": "file",
            "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
        },
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
        {"type": "new", "x": 1},
    ]


def test_pictures_in_a_tool_result_move_into_a_users_turn_ant_17() -> None:
    call = Message("assistant", (ToolCall("t1", "f", ""),))
    sent = turns(call, Message("tool", (ToolResult("t1", (Text("two:"), PICTURE)),)))

    assert sent[0]["content"] is None
    assert sent[0]["tool_calls"][0]["function"] == {"name": "f", "arguments": "{}"}
    assert sent[1] == {"role": "tool", "tool_call_id": "t1", "content": "two:"}
    assert (sent[2]["role"], sent[2]["content"][0]["type"]) == ("user", "image_url")


def test_several_results_become_turns_and_an_error_is_named() -> None:
    results = (ToolResult("a", (Text("1"),)), ToolResult("b", (Text("no"),), is_error=True))

    assert [
        (turn["tool_call_id"], turn["content"]) for turn in turns(Message("tool", results))
    ] == [
        ("a", "1"),
        ("b", "Error: no"),
    ]


def test_thinking_goes_back_only_in_its_own_dialect_rsn_03() -> None:
    turn = Message("assistant", (Thinking("why", "c2ln"), RedactedThinking("x"), Text("ok")))

    assert turns(turn, dialect="openai_chat") == [
        {"role": "assistant", "content": "ok", "reasoning_content": "why"}
    ]
    body, call = written(neutral(turn, dialect="anthropic"))
    assert body["messages"] == [{"role": "assistant", "content": "ok"}]
    assert call.warnings == (Warned("thinking_dropped", "thinking"),)


def test_cache_marks_stay_in_their_dialect() -> None:
    turn = Message("system", (Text("S", cache=MARK),))

    assert turns(turn, dialect="openai_chat")[0]["content"][0]["cache_control"] == MARK
    body, call = written(neutral(turn, turn, dialect="anthropic"))
    assert body["messages"][0] == {"role": "system", "content": "S"}
    assert call.warnings == (Warned("cache_control_dropped", "cache_control"),)


def test_fields_without_a_name_inside_stay_in_their_dialect() -> None:
    extra = {"store": True, "stream_options": {"include_obfuscation": False}}
    request = neutral(extra=extra, dialect="openai_chat", stream=True)
    options = {"include_obfuscation": False, "include_usage": True}

    assert written(request)[0] == {
        **ASKED,
        "model": "host-model-1",
        "stream": True,
        "store": True,
        "stream_options": options,
    }
    foreign = written(replace(request, dialect="anthropic"))[1]
    assert Warned("field_dropped", "store") in foreign.warnings


def test_a_strict_request_loses_nothing() -> None:
    lossy = neutral(sampling=Sampling(top_k=5), dialect="anthropic", strict=True)

    with pytest.raises(RequestRejected) as caught:
        OPENAI.encode(lossy, TARGET)
    assert caught.value.param == "top_k"


@pytest.mark.parametrize(
    "part",
    [
        Opaque("anthropic", {"type": "server_tool_use"}),
        Image(file_id="file_1"),
        Document(url="https://x.test/a.pdf"),
    ],
)
def test_content_that_cannot_be_said_is_refused(part: Any) -> None:
    with pytest.raises(RequestRejected) as caught:
        OPENAI.encode(neutral(Message("user", (part,)), dialect="anthropic"), TARGET)
    assert caught.value.param == "messages"


def test_a_servers_own_tool_of_another_dialect_is_refused() -> None:
    tool = Opaque("anthropic", {"type": "web_search_20250305"})

    with pytest.raises(RequestRejected) as caught:
        OPENAI.encode(neutral(tools=(tool,), dialect="anthropic"), TARGET)
    assert caught.value.param == "tools"


def test_a_refusal_in_the_history_is_kept() -> None:
    assert turns(Message("assistant", (Refusal("no"),)))[0] == {
        "role": "assistant",
        "content": None,
        "refusal": "no",
    }


@pytest.mark.parametrize(
    ("prefill", "marks", "flags"),
    [
        ("message", {}, {}),
        ("prefix", {"prefix": True}, {}),
        ("flags", {}, {"add_generation_prompt": False, "continue_final_message": True}),
    ],
)
def test_the_beginning_of_an_answer_is_shown_as_the_model_takes_it(
    prefill: Prefill, marks: JsonObject, flags: JsonObject
) -> None:
    able = replace(TARGET, capabilities=Capabilities(prefill=prefill))
    asked = neutral().with_turns(said("assistant", "It is"))
    plain, body = (written(one, able)[0] for one in (asked, replace(asked, continues=True)))

    assert body["messages"][-1] == {"role": "assistant", "content": "It is", **marks}
    assert body["messages"][:-1] == plain["messages"][:-1]
    assert {name: body[name] for name in body if name not in plain} == flags


@pytest.mark.parametrize("length", [40, 41, 63, 200])
def test_ids_that_are_too_long_are_shortened_alike_in_calls_and_results(length: int) -> None:
    one, two = "c" * length, "c" * (length - 1) + "d"
    calls = Message("assistant", (ToolCall(one, "f", "{}"), ToolCall(two, "f", "{}")))
    results = Message("tool", (ToolResult(one, (Text("r"),)), ToolResult(two, (Text("r"),))))

    asked, *answered = turns(calls, results, dialect="anthropic")

    ids = [call["id"] for call in asked["tool_calls"]]
    assert ids == [turn["tool_call_id"] for turn in answered]
    assert len(set(ids)) == 2
    assert all(len(own) <= 40 for own in ids)
    assert (ids == [one, two]) == (length == 40)


@pytest.mark.parametrize(
    ("model", "kept"),
    [("gpt-5.2", False), ("o4-mini", False), ("gpt-4.1", True), ("openai/gpt-oss-20b", True)],
)
def test_models_that_refuse_stop_sequences_get_none_of_a_client_of_another_api(
    model: str, *, kept: bool
) -> None:
    thinks = thinks_of(model, "openai_chat", "https://api.openai.com/v1")
    to = replace(TARGET, model=model, thinks=thinks)
    request = neutral(sampling=Sampling(stop=("END",)), dialect="anthropic")

    body, call = written(request, to)

    assert body.get("stop") == (["END"] if kept else None)
    assert call.warnings == ()  # the gateway stops itself: see test_stopping
    assert written(replace(request, dialect="openai_chat"), to)[0]["stop"] == ["END"]
