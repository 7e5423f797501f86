"""A client's search for tools on its way to each provider, and back from one that knows it."""

from __future__ import annotations

import orjson
import pytest

from gateway.upstream.provider import Provider, Target
from gateway.upstream.providers.anthropic import Anthropic
from gateway.upstream.providers.openai_chat import OpenAIChat
from techniques.core.errors import RequestRejected
from techniques.core.events import BlockAdded, Warned
from techniques.core.json import Json, JsonObject
from techniques.core.request import Message, Request, Text, Tool, ToolCall, ToolResult
from techniques.core.tool_search import PARAMETERS
from tests.fakes import responses
from tests.gateway.upstream.openai_responses_samples import HI, asked, decoding, folded, read, sent

OWN: JsonObject = {"type": "tool_search"}
SEARCH = Tool("tool_search", "Finds.", PARAMETERS, extra={**OWN, "execution": "client"})
LATE = Tool("late", "Looks.", {"type": "object", "properties": {}}, strict=False)
CALL = ToolCall("c1", "tool_search", '{"query":"a"}', extra=OWN)
FOUND = ToolResult("c1", (Text("Found: late"),), extra={**OWN, "loaded": ["late"]})
TURNS = (HI, Message("assistant", (CALL,)), Message("tool", (FOUND,)))
TARGET = Target("m", "p", "m")


def _request(**fields: Json) -> Request:
    return Request("m", TURNS, (SEARCH, LATE), dialect="openai_responses", **fields)


@pytest.mark.parametrize("provider", [OpenAIChat(), Anthropic()], ids=["chat", "anthropic"])
def test_others_are_offered_functions_and_the_loss_is_named(provider: Provider) -> None:
    call = provider.encode(_request(), TARGET)

    body = orjson.loads(call.body)
    named = [tool.get("function", tool)["name"] for tool in body["tools"]]
    assert named == ["tool_search", "late"]
    assert b"Found: late" in call.body
    assert b"loaded" not in call.body
    assert call.warnings == (Warned("tool_search_as_function", "tools"),)
    with pytest.raises(RequestRejected):
        provider.encode(_request(strict=True), TARGET)


def test_its_own_api_has_it_in_its_own_form() -> None:
    body = sent(asked(*TURNS, tools=(SEARCH, LATE), dialect="openai_responses"))

    told: JsonObject = {"call_id": "c1", "execution": "client", "status": "completed"}
    late = {"type": "function", "name": "late", "description": "Looks.", "strict": False}
    late |= {"parameters": LATE.parameters, "defer_loading": True}
    assert body["tools"] == [
        {**OWN, "execution": "client", "description": "Finds.", "parameters": PARAMETERS}
    ]
    assert body["input"][1:] == [
        {"type": "tool_search_call", **told, "arguments": {"query": "a"}},
        {"type": "tool_search_output", **told, "tools": [late]},
    ]


def test_a_call_that_a_technique_sends_back_is_one_of_the_search() -> None:
    call = Message("assistant", (ToolCall("c1", "tool_search", '{"query":"a"}'),))

    body = sent(asked(HI, call, tools=(SEARCH,), dialect="openai_responses"))

    assert body["input"][1]["type"] == "tool_search_call"


def test_a_tool_whose_search_was_left_out_is_offered_like_others() -> None:
    body = sent(asked(HI, tools=(SEARCH, LATE), dialect="openai_responses"))

    assert [tool.get("name") for tool in body["tools"]] == [None, "late"]


def _item(who: str | None) -> JsonObject:
    item = {"id": "tsc_1", "type": "tool_search_call", "status": "completed", "call_id": "c1"}
    return {**item, "execution": who, "arguments": {"query": "a"}}


def test_a_search_that_the_client_is_to_carry_out_is_a_call() -> None:
    raw = b"".join(responses.events((_item("client"), [])))

    reply = folded(read(decoding(), [raw]))

    assert reply.parts == (ToolCall("c1", "tool_search", '{"query":"a"}'),)
    assert reply.finish_reason == "tool_calls"


@pytest.mark.parametrize("who", ["server", None])
def test_a_search_that_was_carried_out_is_no_call(who: str | None) -> None:
    events = read(decoding(), [b"".join(responses.events((_item(who), [])))])

    assert [event for event in events if isinstance(event, BlockAdded)]
    assert folded(events).finish_reason == "stop"
