"""A client's own search for tools is a function to other providers, and what it finds are tools."""

from __future__ import annotations

import pytest

from techniques.core.errors import RequestRejected
from techniques.core.events import Event, Finished, Started, ToolCallDelta, ToolCallStarted
from techniques.core.json import Json, JsonObject
from techniques.core.request import Message, Opaque, Text, Tool, ToolCall, ToolResult
from tests.gateway.wire.responses_calls import (
    CUSTOM,
    FUNCTION,
    decoded,
    encoder,
    kinds,
    streamed,
    whole,
)

SAID: JsonObject = {"type": "tool_search"}
SCHEMA: JsonObject = {"type": "object", "properties": {"goal": {"type": "string"}}}
SEARCH: JsonObject = {
    "type": "tool_search",
    "execution": "client",
    "description": "Finds tools.",
    "parameters": SCHEMA,
}
LATE: JsonObject = {**FUNCTION, "name": "late", "defer_loading": True}
GROUP: JsonObject = {"type": "namespace", "name": "agents", "tools": [LATE, CUSTOM]}
CALL: JsonObject = {
    "type": "tool_search_call",
    "id": "tsc_1",
    "call_id": "c1",
    "execution": "client",
    "status": "completed",
    "arguments": {"goal": "a"},
}


def output(*tools: Json, **more: Json) -> JsonObject:
    found: JsonObject = {"type": "tool_search_output", "call_id": "c1", "tools": list(tools)}
    return {**found, "execution": "client", "status": "completed", **more}


def _call(arguments: str) -> ToolCall:
    return ToolCall("c1", "tool_search", arguments, extra=SAID)


def names(**fields: Json) -> list[str]:
    return [tool.name for tool in decoded(**fields).tools if isinstance(tool, Tool)]


def calling(name: str, arguments: str) -> tuple[Event, ...]:
    return (
        Started("m"),
        ToolCallStarted(0, "c1", name),
        *(ToolCallDelta(0, piece) for piece in (arguments[:3], arguments[3:]) if piece),
        Finished("tool_calls"),
    )


def test_the_search_is_a_function_of_the_clients_own_form() -> None:
    [tool] = decoded(tools=[SEARCH]).tools

    extra = {"type": "tool_search", "execution": "client"}
    assert tool == Tool("tool_search", "Finds tools.", SCHEMA, extra=extra)


def test_a_search_without_a_form_is_by_a_text() -> None:
    [tool] = decoded(tools=[{"type": "tool_search", "execution": "client"}]).tools

    assert isinstance(tool, Tool)
    assert tool.description
    assert tool.parameters["required"] == ["query"]


@pytest.mark.parametrize("who", [{}, {"execution": "server"}, {"execution": None}])
def test_a_search_of_the_providers_own_stays_its_own(who: JsonObject) -> None:
    tool = {"type": "tool_search", **who}
    items = [{**CALL, "execution": None, **who}, output(FUNCTION, **{"execution": None, **who})]

    read = decoded(tools=[tool], input=[{"role": "user", "content": "hi"}, *items])

    assert read.tools == (Opaque("openai_responses", tool),)
    assert [message.parts for message in read.messages[1:]] == [
        (Opaque("openai_responses", item),) for item in items
    ]


def test_what_a_search_found_is_offered_from_then_on() -> None:
    found = [CALL, output(GROUP), {**CALL, "call_id": "c2"}, output(LATE, GROUP, call_id="c2")]

    read = decoded(tools=[SEARCH, FUNCTION], input=found)

    tools = [tool for tool in read.tools if isinstance(tool, Tool)]
    called = ["tool_search", "f", "agents__late", "agents__patch", "late"]
    assert [tool.name for tool in tools] == called
    assert all("defer_loading" not in tool.extra for tool in tools)
    assert tools[3].extra["type"] == "custom"


def test_a_tool_that_was_listed_stands_where_it_did() -> None:
    assert names(tools=[LATE, SEARCH], input=[CALL, output(LATE)]) == ["late", "tool_search"]


def test_the_search_and_what_it_found_are_turns_of_the_conversation() -> None:
    [asked, told] = decoded(tools=[SEARCH], input=[CALL, output(GROUP, FUNCTION)]).messages

    assert asked == Message("assistant", (_call('{"goal":"a"}'),))
    [result] = told.parts
    assert isinstance(result, ToolResult)
    assert (told.role, result.call_id) == ("tool", "c1")
    assert result.extra == {**SAID, "loaded": ["agents__late", "agents__patch", "f"]}
    [text] = result.parts
    assert isinstance(text, Text)
    assert "agents__late, agents__patch, f" in text.text


def test_a_search_that_found_nothing_says_so() -> None:
    [_, told] = decoded(tools=[SEARCH], input=[CALL, output()]).messages

    [result] = told.parts
    assert isinstance(result, ToolResult)
    assert result.parts == (Text("No tools were found."),)


def test_tools_that_the_input_adds_are_offered_and_nothing_is_said() -> None:
    added: Json = {"type": "additional_tools", "role": "developer", "tools": [GROUP]}

    read = decoded(tools=[FUNCTION], input=[added, {"role": "user", "content": "hi"}])

    assert [message.role for message in read.messages] == ["user"]
    listed = [tool.name for tool in read.tools if isinstance(tool, Tool)]
    assert listed == ["f", "agents__late", "agents__patch"]


def test_deferred_tools_are_offered_as_nobody_else_could_load_them() -> None:
    [tool] = decoded(tools=[LATE]).tools

    assert isinstance(tool, Tool)
    assert tool.extra == {"defer_loading": True}  # which other providers are not told of, by name


def test_only_the_search_may_be_allowed() -> None:
    allowed: Json = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "tool_search"}]}

    assert names(tools=[SEARCH, FUNCTION], tool_choice=allowed) == ["tool_search"]


@pytest.mark.parametrize(
    ("item", "param"),
    [
        ({**CALL, "call_id": None}, "input[0].call_id"),
        (output(FUNCTION, call_id=None), "input[0].call_id"),
        (output({"type": "function"}), "input[0].tools[0].name"),
        (output(tools="f"), "input[0].tools"),
    ],
)
def test_what_is_wrong_with_an_item_is_named(item: JsonObject, param: str) -> None:
    with pytest.raises(RequestRejected) as refused:
        decoded(input=[item])

    assert refused.value.param == param


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ('{"goal": "a"}', {"goal": "a"}),
        ("", {}),
        ('{"goal', '{"goal'),
        ("[1]", "[1]"),
    ],
)
def test_a_call_of_it_is_the_clients_own_item(arguments: str, given: Json) -> None:
    events = calling("tool_search", arguments)

    [made] = whole(*events, tools=[SEARCH])["output"]
    told = streamed(encoder(tools=[SEARCH]), *events)

    fields = {"type": "tool_search_call", "call_id": "c1", "execution": "client"}
    assert made == {**fields, "id": made["id"], "status": "completed", "arguments": given}
    assert made["id"].startswith("tsc_")
    steps = ["output_item.added", "output_item.done"]
    assert kinds(told) == ["created", "in_progress", *steps, "completed"]
    begun, done = (body["item"] for body in told[2:4])
    assert begun == {**done, "status": "in_progress", "arguments": {}}
    assert {**done, "id": made["id"]} == made
    [call] = decoded(input=[done]).messages[0].parts
    assert call == _call((arguments or "{}").replace(": ", ":"))


@pytest.mark.parametrize("tools", [[], [FUNCTION], [{**SEARCH, "execution": "server"}]])
def test_a_function_of_that_name_is_a_function(tools: list[Json]) -> None:
    [made] = whole(*calling("tool_search", "{}"), tools=tools)["output"]

    assert made["type"] == "function_call"


@pytest.mark.parametrize(
    "brought", [[CALL, output(GROUP)], [{"type": "additional_tools", "tools": [GROUP]}]]
)
@pytest.mark.parametrize(
    ("called", "kind", "name"),
    [
        ("agents__late", "function_call", "late"),
        ("agents__patch", "custom_tool_call", "patch"),
    ],
)
def test_calls_of_tools_that_were_found_have_the_clients_names(
    brought: list[Json], called: str, kind: str, name: str
) -> None:
    fields: JsonObject = {"tools": [SEARCH], "input": brought}
    events = calling(called, '{"input":"x"}')

    [made] = whole(*events, **fields)["output"]
    told = streamed(encoder(**fields), *events)

    for item in (made, told[-1]["response"]["output"][0]):
        assert (item["type"], item["name"], item["namespace"]) == (kind, name, "agents")
