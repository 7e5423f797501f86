from __future__ import annotations

from typing import Any

import orjson
import pytest

from gateway.wire.dialect import Call
from gateway.wire.openai_chat import OpenAIChat
from techniques.core.errors import RequestRejected
from techniques.core.request import (
    Audio,
    Document,
    Image,
    Message,
    Opaque,
    Refusal,
    Request,
    ResponseFormat,
    Role,
    Sampling,
    Text,
    Thinking,
    ThinkingWish,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
)

HI = {"role": "user", "content": "hi"}
ASKED: dict[str, Any] = {"model": "fast", "messages": [HI]}
FUNCTION = {"name": "f", "parameters": {"type": "object"}}
TOOL = {"type": "function", "function": FUNCTION}
CALLED = {"id": "a1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
MARK = {"type": "ephemeral"}


def call(**fields: Any) -> Call:
    body = {**ASKED, **fields}
    return OpenAIChat().decode(body, orjson.dumps(body))


def request(**fields: Any) -> Request:
    return call(**fields).relay.decode()


def turn(**fields: Any) -> Message:
    return request(messages=[fields]).messages[0]


def test_the_head_tells_what_planning_needs() -> None:
    asked = call(stream=True, stream_options={"include_usage": True}, n=3)

    assert (asked.dialect, asked.model, asked.streamed) == ("openai_chat", "fast", True)
    assert (asked.include_usage, asked.relay.include_usage) == (True, True)
    assert asked.relay.decode().sampling.n == 3
    assert orjson.loads(asked.relay.raw or b"") == asked.relay.body


@pytest.mark.parametrize("fields", [{}, {"stream": None, "n": None, "stream_options": None}])
def test_what_is_absent_or_null_has_a_default(fields: dict[str, None]) -> None:
    asked = call(**fields)

    assert (asked.streamed, asked.include_usage, dict(asked.wishes)) == (False, False, {})
    assert asked.relay.decode().sampling.n == 1


def test_what_only_the_gateway_reads_is_taken_out_par_08() -> None:
    asked = call(reliability={"max_calls": 3}, technique="best_of_n", cache=True)

    assert asked.wishes == {"technique": "best_of_n", "max_calls": 3}
    assert asked.relay.raw is None
    assert asked.relay.body == {**ASKED, "cache": True}


def test_a_technique_may_carry_its_options_and_the_wishes_win() -> None:
    named = {"name": "best_of_n", "num_samples": 3}

    assert call(technique=named).wishes == {"technique": "best_of_n", "params": {"num_samples": 3}}
    assert call(technique="x", reliability={"technique": "y"}).wishes == {"technique": "y"}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": None}, "model"),
        ({"model": ""}, "model"),
        ({"model": 3}, "model"),
        ({"messages": []}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"stream": "yes"}, "stream"),
        ({"stream_options": []}, "stream_options"),
        ({"stream_options": {"include_usage": 1}}, "stream_options.include_usage"),
        ({"n": 0}, "n"),
        ({"n": True}, "n"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"max_completion_tokens": "9"}, "max_completion_tokens"),
        ({"reliability": []}, "reliability"),
        ({"technique": 3}, "technique"),
    ],
)
def test_a_wrong_head_is_rejected_by_name_par_10(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(RequestRejected) as caught:
        call(**fields)
    assert caught.value.param == param


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": ["hi"]}, "messages[0]"),
        ({"messages": [HI, {"role": "robot", "content": ""}]}, "messages[1].role"),
        ({"messages": [{"role": "tool", "content": "r"}]}, "messages[0].tool_call_id"),
        ({"messages": [{"role": "function", "content": "r"}]}, "messages[0].name"),
        ({"messages": [{"role": "user", "content": 3}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{}]}]}, "messages[0].content[0].type"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
            "messages[0].content[0].text",
        ),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"id": "a"}]}]},
            "messages[0].tool_calls[0].function",
        ),
        ({"tools": {}}, "tools"),
        ({"tools": [{"type": "function", "function": {}}]}, "tools[0].function.name"),
        ({"tool_choice": "any"}, "tool_choice"),
        ({"temperature": "hot"}, "temperature"),
        ({"stop": [1]}, "stop"),
        ({"seed": 1.5}, "seed"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
    ],
)
def test_a_wrong_field_is_rejected_by_name(fields: dict[str, Any], param: str) -> None:
    asked = call(**fields)
    with pytest.raises(RequestRejected) as caught:
        asked.relay.decode()
    assert caught.value.param == param


@pytest.mark.parametrize("role", ["system", "developer", "user"])
def test_a_turn_has_a_role_a_name_and_a_text(role: Role) -> None:
    assert turn(role=role, content="S", name="n") == Message(role, (Text("S"),), "n")


def test_parts_of_every_kind_are_read_ant_17() -> None:
    content = [
        {"type": "text", "text": "t", "cache_control": MARK, "x": 1},
        {"type": "image_url", "image_url": {"url": "https://x.test/a.png", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,JV", "filename": "a"}},
        {"type": "file", "file": {"file_id": "file_1"}},
        {"type": "input_audio", "input_audio": {"data": "Ukl", "format": "wav"}},
        {"type": "refusal", "refusal": "no"},
        {"type": "hologram", "beam": 1},
    ]

    assert turn(role="user", content=content).parts == (
        Text("t", MARK, {"x": 1}),
        Image(url="https://x.test/a.png", detail="low", extra={}),
        Image(data="iVBORw0KGgo=", media_type="image/png", extra={}),
        Document(data="JV", media_type="application/pdf", name="a", extra={}),
        Document(file_id="file_1", extra={}),
        Audio("Ukl", "wav", {}),
        Refusal("no"),
        Opaque("openai_chat", {"type": "hologram", "beam": 1}),
    )


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_an_assistants_turn_keeps_its_reasoning_and_calls_rsn_03(name: str) -> None:
    read = turn(role="assistant", content="", tool_calls=[CALLED], **{name: "why"})

    assert read.parts == (Thinking("why"), ToolCall("a1", "f", "{}", extra={}))


def test_a_tools_turn_is_a_result() -> None:
    content = [{"type": "text", "text": "r"}]

    assert turn(role="tool", tool_call_id="a1", content=content, cache_control=MARK) == Message(
        "tool", (ToolResult("a1", (Text("r", extra={}),), cache=MARK),), extra={}
    )


def test_old_functions_are_tools_and_their_turns_fit_together_tool_10() -> None:
    old = request(
        functions=[FUNCTION],
        function_call={"name": "f"},
        messages=[
            HI,
            {"role": "assistant", "content": None, "function_call": CALLED["function"]},
            {"role": "function", "name": "f", "content": "r"},
        ],
    )
    made, result = old.messages[1].parts[0], old.messages[2].parts[0]

    assert [tool.name for tool in old.tools if isinstance(tool, Tool)] == ["f"]
    assert old.tool_choice == ToolChoice("named", "f")
    assert isinstance(made, ToolCall)
    assert isinstance(result, ToolResult)
    assert made.id == result.call_id


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("none", ToolChoice("none")),
        ("required", ToolChoice("required")),
        ("auto", ToolChoice("auto")),
        ({"type": "function", "function": {"name": "f"}}, ToolChoice("named", "f")),
        ({"type": "allowed_tools", "allowed_tools": {"mode": "required"}}, ToolChoice("required")),
    ],
)
def test_every_mode_of_choosing_tools_is_read_ant_15(choice: Any, expected: ToolChoice) -> None:
    assert request(tools=[TOOL], tool_choice=choice).tool_choice == expected


def test_a_kind_of_choice_without_a_name_inside_is_kept() -> None:
    choice = {"type": "hologram", "hologram": {"name": "run"}}

    assert request(tools=[TOOL], tool_choice=choice).extra == {"tool_choice": choice}


def allowing(*tools: Any, mode: str = "required") -> Any:
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": list(tools)}}


def test_only_the_tools_that_are_allowed_are_offered() -> None:
    free = {"type": "custom", "custom": {"name": "f"}}
    function = {"type": "function", "function": {"name": "f"}}
    others = [{"type": "function", "function": {"name": name}} for name in ("g", "h")]
    tools = [function, free, *others]

    some = request(tools=tools, tool_choice=allowing(function, others[1]))
    other = request(tools=tools, tool_choice=allowing(free, mode="auto"))

    assert [tool.name for tool in some.tools if isinstance(tool, Tool)] == ["f", "h"]
    assert (some.tool_choice, other.tool_choice) == (ToolChoice("required"), ToolChoice("auto"))
    assert [tool.extra for tool in other.tools if isinstance(tool, Tool)] == [{"type": "custom"}]
    assert some.extra == {}


@pytest.mark.parametrize(
    ("entry", "param"),
    [
        (1, "tool_choice.allowed_tools.tools[0]"),
        ({}, "tool_choice.allowed_tools.tools[0].type"),
        ({"type": "function"}, "tool_choice.allowed_tools.tools[0].function.name"),
        ({"type": "function", "function": 3}, "tool_choice.allowed_tools.tools[0].function"),
    ],
)
def test_an_entry_of_the_allowed_tools_that_names_none_is_refused(entry: Any, param: str) -> None:
    with pytest.raises(RequestRejected) as caught:
        request(tools=[TOOL], tool_choice=allowing(entry))
    assert caught.value.param == param


@pytest.mark.parametrize(
    ("beside", "form"),
    [
        ({"schema": {"type": "object"}}, ResponseFormat("json_schema", {"type": "object"})),
        ({"schema": {}}, ResponseFormat("json_object")),
        ({"schema": None}, ResponseFormat("json_object")),
        ({"schema": "object"}, ResponseFormat("json_object")),
        ({}, ResponseFormat("json_object")),
    ],
)
def test_a_schema_beside_json_is_held_to(beside: dict[str, Any], form: ResponseFormat) -> None:
    read = request(response_format={"type": "json_object", **beside})

    assert read.response_format == form


def test_every_known_field_has_its_place_and_others_are_kept_par_03() -> None:
    schema = {"name": "n", "schema": {"type": "object"}, "strict": True, "description": "d"}
    read = request(
        response_format={"type": "json_schema", "json_schema": schema},
        max_tokens=5,
        max_completion_tokens=6,
        stop="X",
        n=2,
        seed=7,
        logprobs=True,
        top_logprobs=2,
        temperature=0,
        top_p=0.5,
        presence_penalty=0.1,
        frequency_penalty=0.2,
        reasoning_effort="low",
        user="u",
        parallel_tool_calls=False,
        logit_bias={"1": -1},
        some_new_field={"z": 1},
    )

    assert read.sampling == Sampling(0, 0.5, None, 6, ("X",), 7, 2, True, 2, 0.1, 0.2)  # noqa: FBT003
    assert read.response_format == ResponseFormat("json_schema", {"type": "object"}, "n", True, "d")  # noqa: FBT003
    assert (read.thinking, read.user) == (ThinkingWish(effort="low"), "u")
    assert read.tool_choice == ToolChoice(parallel=False)
    assert read.extra == {"logit_bias": {"1": -1}, "some_new_field": {"z": 1}}
