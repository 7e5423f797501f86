"""Tools of a group stand for themselves before a provider, and are told apart to the client."""

from __future__ import annotations

import pytest

from techniques.core.events import Event, Finished, Started, ToolCallDelta, ToolCallStarted
from techniques.core.json import Json, JsonObject
from techniques.core.request import Opaque, Tool, ToolCall, ToolChoice
from tests.gateway.wire.responses_calls import FUNCTION, decoded, encoder, streamed, whole

SPAWN: JsonObject = {
    "type": "function",
    "name": "spawn",
    "description": "Start one.",
    "parameters": {"type": "object", "properties": {}},
    "strict": False,
}
PATCH: JsonObject = {"type": "custom", "name": "patch"}


def group(name: str = "agents", *tools: Json) -> JsonObject:
    inner = list(tools or (SPAWN, PATCH))
    return {"type": "namespace", "name": name, "description": "Agents below.", "tools": inner}


def calling(name: str, arguments: str) -> tuple[Event, ...]:
    return (
        Started("m"),
        ToolCallStarted(0, "call_1", name),
        ToolCallDelta(0, arguments),
        Finished("tool_calls"),
    )


def names(*tools: Json, **more: Json) -> list[str]:
    read = decoded(tools=list(tools), **more).tools
    return [tool.name for tool in read if isinstance(tool, Tool)]


def test_each_tool_of_a_group_is_offered_with_what_is_told_of_the_group() -> None:
    spawn, patch, plain = decoded(tools=[group(), FUNCTION]).tools

    assert isinstance(spawn, Tool)
    assert (spawn.name, spawn.strict) == ("agents__spawn", False)
    assert spawn.description == "Agents below.\n\nStart one."
    assert isinstance(patch, Tool)
    assert (patch.name, patch.extra["type"]) == ("agents__patch", "custom")
    assert isinstance(plain, Tool)
    assert plain.name == "f"


def test_tools_of_two_groups_may_be_called_alike() -> None:
    assert names(group("a", SPAWN), group("b__", SPAWN), SPAWN) == ["a__spawn", "b__spawn", "spawn"]


def test_what_no_function_is_in_a_group_stays_as_it_is() -> None:
    assert decoded(tools=[group("a", {"type": "future"})]).tools == (
        Opaque("openai_responses", {"type": "future"}),
    )


@pytest.mark.parametrize(
    ("called", "arguments", "item"),
    [
        ("agents__spawn", "{}", {"type": "function_call", "name": "spawn", "namespace": "agents"}),
        ("agents__patch", '{"input":"x"}', {"name": "patch", "namespace": "agents", "input": "x"}),
        ("f", "{}", {"type": "function_call", "name": "f"}),
        ("agents__", "{}", {"type": "function_call", "name": "agents__"}),
    ],
)
def test_the_client_finds_its_own_names(called: str, arguments: str, item: JsonObject) -> None:
    tools: Json = [group(), FUNCTION]
    events = calling(called, arguments)

    [made] = whole(*events, tools=tools)["output"]
    told = streamed(encoder(tools=tools), *events)

    assert item.items() <= made.items()
    assert ("namespace" in made) == ("namespace" in item)
    items = [body["item"] for body in told if body["type"].startswith("response.output_item")]
    for one in items:
        assert (one["name"], one.get("namespace")) == (item["name"], item.get("namespace"))


@pytest.mark.parametrize(
    ("kind", "given", "name"),
    [
        ("function_call", {"arguments": "{}"}, "spawn"),
        ("custom_tool_call", {"input": "x"}, "patch"),
    ],
)
def test_a_call_that_comes_back_is_of_the_tool_that_was_offered(
    kind: str, given: JsonObject, name: str
) -> None:
    item = {"type": kind, "call_id": "c", "name": name, "namespace": "agents", **given}

    [_, turn] = decoded(input=[{"role": "user", "content": "hi"}, item]).messages

    [call] = turn.parts
    assert isinstance(call, ToolCall)
    assert call.name == f"agents__{name}"


def test_a_tool_of_a_group_may_be_chosen() -> None:
    choice: Json = {"type": "function", "name": "spawn", "namespace": "agents"}

    read = decoded(tools=[group()], tool_choice=choice).tool_choice

    assert read == ToolChoice("named", "agents__spawn")


def test_a_group_may_be_all_that_is_allowed() -> None:
    allowed: Json = {"type": "allowed_tools", "mode": "auto", "tools": [group()]}

    assert names(group(), FUNCTION, tool_choice=allowed) == ["agents__spawn", "agents__patch"]
