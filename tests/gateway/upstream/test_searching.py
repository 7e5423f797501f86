"""The search of the web goes between OpenAI's two APIs."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import orjson
import pytest

from gateway.upstream.provider import Target
from gateway.upstream.providers.openai_chat import OpenAIChat
from gateway.upstream.providers.openai_responses import OpenAIResponses
from gateway.upstream.shared import taken_by
from gateway.wire.openai_chat import OpenAIChat as ChatClients
from gateway.wire.openai_responses import OpenAIResponses as ResponsesClients
from techniques.core.errors import RequestRejected
from techniques.core.events import Warned
from techniques.core.json import Json, JsonObject
from techniques.core.request import Request

NEAR: Final = {"city": "Oslo", "country": "NO"}
OPTIONS: Final[list[tuple[JsonObject, JsonObject]]] = [
    ({}, {}),
    ({"search_context_size": "low"}, {"search_context_size": "low"}),
    (
        {"user_location": {"type": "approximate", "approximate": NEAR}},
        {"user_location": {"type": "approximate", **NEAR}},
    ),
]
SEARCHES: Final = Target("m", "p", "gpt-5-search-api", takes=taken_by("openai"))


def from_chat(**more: Json) -> Request:
    body = {"model": "m", "messages": [{"role": "user", "content": "a"}], **more}
    return ChatClients().decode(body, orjson.dumps(body)).relay.decode()


def from_responses(**more: Json) -> Request:
    body = {"model": "m", "input": "a", **more}
    return ResponsesClients().decode(body, orjson.dumps(body)).relay.decode()


@pytest.mark.parametrize(("options", "tool"), OPTIONS)
def test_a_chat_clients_options_are_a_tool_of_responses(
    options: JsonObject, tool: JsonObject
) -> None:
    sent = OpenAIResponses().encode(
        replace(from_chat(web_search_options=options), strict=True), Target("m", "p", "m")
    )

    assert orjson.loads(sent.body)["tools"] == [{"type": "web_search", **tool}]


def test_it_stands_beside_functions() -> None:
    function = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    request = from_chat(web_search_options={}, tools=[function])

    body = orjson.loads(OpenAIResponses().encode(request, Target("m", "p", "m")).body)

    assert [tool["type"] for tool in body["tools"]] == ["function", "web_search"]


@pytest.mark.parametrize("kind", ["web_search", "web_search_2025_08_26", "web_search_preview"])
@pytest.mark.parametrize(("options", "tool"), OPTIONS)
def test_the_tool_is_options_for_a_model_that_searches(
    options: JsonObject, tool: JsonObject, kind: str
) -> None:
    request = from_responses(tools=[{"type": kind, **tool}])

    sent = OpenAIChat().encode(replace(request, strict=True), SEARCHES)

    body = orjson.loads(sent.body)
    assert body["web_search_options"] == options
    assert "tools" not in body


def test_what_the_options_cannot_say_is_lost_by_name() -> None:
    tool = {"type": "web_search", "filters": {"allowed_domains": ["a.test"]}}

    sent = OpenAIChat().encode(from_responses(tools=[tool]), SEARCHES)

    assert sent.warnings == (Warned("field_dropped", "tools.filters"),)


@pytest.mark.parametrize(
    "target",
    [replace(SEARCHES, model="gpt-4.1"), replace(SEARCHES, takes=taken_by("mistral"))],
)
def test_a_model_that_does_not_search_refuses_the_tool(target: Target) -> None:
    with pytest.raises(RequestRejected) as refused:
        OpenAIChat().encode(from_responses(tools=[{"type": "web_search"}]), target)

    assert refused.value.code == "unsupported_tool"
