"""Whatever a client sends, the mistake is its own, and the answer is strict JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from gateway.upstream.provider import Provider, Target
from gateway.upstream.providers.anthropic import Anthropic
from gateway.upstream.providers.openai_chat import OpenAIChat as OpenAIProvider
from gateway.upstream.providers.openai_responses import OpenAIResponses as ResponsesProvider
from gateway.wire.anthropic import AnthropicMessages
from gateway.wire.body import parse
from gateway.wire.dialect import Dialect
from gateway.wire.ollama import OllamaChat, OllamaGenerate
from gateway.wire.openai_chat import OpenAIChat
from gateway.wire.openai_responses import OpenAIResponses
from techniques.core.errors import RequestRejected
from techniques.core.json import Json
from techniques.core.request import Request
from tests.fakes.client import strict
from tests.property.bodies import ANY, bodies
from tests.property.examples import CHAT, MESSAGES, WHOLE, Surface

MANY = settings(
    max_examples=50, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
DIALECTS: Mapping[Surface, Dialect] = {
    "/v1/chat/completions": OpenAIChat(),
    "/v1/messages": AnthropicMessages(),
    "/v1/responses": OpenAIResponses(),
    "/api/chat": OllamaChat(),
    "/api/generate": OllamaGenerate(),
}
SURFACES: tuple[Surface, ...] = tuple(DIALECTS)
COUNTS = ("/v1/messages/count_tokens", "/v1/responses/input_tokens")


def answered(app: TestClient, path: str, body: bytes) -> int:
    """Return the status; the answer must be what a strict client can read."""
    answer = app.post(path, content=body, headers={"content-type": "application/json"})
    assert answer.status_code < 500, (answer.text, body)
    if answer.headers["content-type"].startswith("text/event-stream"):
        for line in answer.text.split("\n"):
            if line.startswith("data: ") and line != "data: [DONE]":
                assert isinstance(strict(line[6:].encode()), dict)
        return answer.status_code
    if answer.headers["content-type"] == "application/x-ndjson":
        assert all(isinstance(strict(line.encode()), dict) for line in answer.text.splitlines())
        return answer.status_code
    told = strict(answer.content)
    assert isinstance(told, dict)
    assert (answer.status_code == 200) != bool(told.get("error"))
    return answer.status_code


@pytest.mark.parametrize("path", SURFACES)
def test_the_whole_bodies_are_answered(app: TestClient, path: Surface) -> None:
    assert answered(app, path, orjson.dumps(WHOLE[path])) == 200


@pytest.mark.parametrize("path", SURFACES)
def test_a_body_with_something_wrong_is_answered_or_refused(app: TestClient, path: Surface) -> None:
    @MANY
    @given(bodies(path))
    def holds(body: Json) -> None:
        answered(app, path, orjson.dumps(body))

    holds()


@pytest.mark.parametrize("path", [*SURFACES, *COUNTS])
def test_any_json_and_any_bytes_are_answered_or_refused(app: TestClient, path: str) -> None:
    @MANY
    @given(ANY.map(orjson.dumps) | st.binary(max_size=30))
    def holds(body: bytes) -> None:
        assert 400 <= answered(app, path, body) < 500

    holds()


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "(("},
        {"type": "number", "minimum": 1e308, "maximum": -1e308},
        {"type": "integer", "minimum": 2**70},
        {"type": "number", "minimum": 1e308, "multipleOf": 1e-5},
        {"$ref": "#"},
        {"$ref": "#/x/y", "x": [1]},
        {"type": "array", "minItems": 1e9},
        {"enum": []},
    ],
)
def test_a_schema_that_cannot_be_filled_breaks_nothing(app: TestClient, schema: Json) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    asked = {"model": "sim-small", "messages": CHAT["messages"][-1:]}

    for more in ({"response_format": form}, {"tools": [tool], "tool_choice": "required"}):
        answered(app, "/v1/chat/completions", json.dumps({**asked, **more}).encode())


def test_a_choice_of_tools_without_a_function_is_refused(app: TestClient) -> None:
    odd = {**CHAT, "tool_choice": {"type": "function", "function": True}}

    assert answered(app, "/v1/chat/completions", orjson.dumps(odd)) == 400


@pytest.mark.parametrize("strictly", [False, True])
@pytest.mark.parametrize("provider", [Anthropic(), OpenAIProvider(), ResponsesProvider()])
@pytest.mark.parametrize("path", SURFACES)
def test_what_can_be_read_can_be_sent_to_any_provider(
    path: Surface,
    provider: Provider,
    strictly: bool,  # noqa: FBT001
) -> None:
    dialect = DIALECTS[path]
    target = Target("fast", "p", "real-name")

    @MANY
    @given(bodies(path))
    def holds(body: Json) -> None:
        raw = orjson.dumps(body)
        try:
            call = dialect.decode(parse(raw), raw)
            asked = Request("real-name", stream=call.streamed, strict=strictly, relay=call.relay)
            relayed = provider.encode(
                asked if dialect.name == provider.dialect else asked.decoded(), target
            )
            sent = [relayed, provider.encode(asked.decoded(), target)]
        except RequestRejected:
            return
        for one in sent:
            told = strict(one.body)
            assert told["model"] == "real-name"
            assert "reliability" not in told

    holds()


def test_the_whole_bodies_lose_nothing_that_both_dialects_have() -> None:
    chat = OpenAIChat().decode(CHAT, orjson.dumps(CHAT)).relay.decode()
    messages = AnthropicMessages().decode(MESSAGES, orjson.dumps(MESSAGES)).relay.decode()

    to_messages = strict(Anthropic().encode(chat, Target("f", "p", "m")).body)
    to_chat = strict(OpenAIProvider().encode(messages, Target("f", "p", "m")).body)

    assert [tool["name"] for tool in to_messages["tools"]] == ["look_up"]
    assert [tool["function"]["name"] for tool in to_chat["tools"]] == ["look_up"]
    assert '"tool_use_id":"call_1"' in orjson.dumps(to_messages).decode()
    assert '"tool_call_id":"toolu_1"' in orjson.dumps(to_chat).decode()
