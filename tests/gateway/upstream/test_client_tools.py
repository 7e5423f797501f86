"""Anthropic's tools that the client carries out are functions for other providers' models."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import orjson
import pytest
from anthropic.types import ToolUnionParam
from jsonschema_rs import validator_for

from gateway.upstream.provider import Provider, Target
from gateway.upstream.providers.anthropic import Anthropic
from gateway.upstream.providers.openai_chat import OpenAIChat
from gateway.upstream.providers.openai_responses import OpenAIResponses
from gateway.wire.anthropic import AnthropicMessages
from techniques.core.errors import RequestRejected
from techniques.core.events import Warned
from techniques.core.json import Json, JsonObject
from techniques.core.request import Request
from tests.translation.samples import fields_of, members

TARGET: Final = Target("m", "p", "m")
BASH: Final = {"type": "bash_20250124", "name": "bash"}
OLDER: Final = {"type": "text_editor_20250124", "name": "str_replace_editor"}
NEWER: Final = {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"}
MEMORY: Final = {"type": "memory_20250818", "name": "memory"}
NAMED: Final = {"type": "tool", "name": "bash"}
others = pytest.mark.parametrize("provider", [OpenAIChat(), OpenAIResponses()])


def asked(*tools: Json, **more: Json) -> Request:
    said = {"role": "user", "content": "a"}
    body = {"model": "m", "max_tokens": 99, "messages": [said], "tools": list(tools), **more}
    return AnthropicMessages().decode(body, orjson.dumps(body)).relay.decode()


def functions(body: JsonObject) -> list[JsonObject]:
    return [tool.get("function", tool) for tool in body["tools"]]


@others
@pytest.mark.parametrize(
    ("tool", "call"),
    [
        (BASH, {"command": "ls"}),
        (BASH, {"restart": True}),
        (OLDER, {"command": "undo_edit", "path": "/a"}),
        (OLDER, {"command": "insert", "path": "/a", "insert_line": 0, "new_str": "b"}),
        (NEWER, {"command": "view", "path": "/a", "view_range": [1, -1]}),
        (NEWER, {"command": "str_replace", "path": "/a", "old_str": "b", "new_str": "c"}),
        (NEWER, {"command": "insert", "path": "/a", "insert_line": 2, "insert_text": "b"}),
        (MEMORY, {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/b"}),
        (MEMORY, {"command": "create", "path": "/memories/a", "file_text": "b"}),
    ],
)
def test_what_a_client_is_called_with_is_what_it_knows(
    provider: Provider, tool: Json, call: Json
) -> None:
    sent = provider.encode(asked(tool), TARGET)

    (function,) = functions(orjson.loads(sent.body))
    assert function["name"] == tool["name"]
    assert sent.warnings == (Warned("client_tool_as_function", tool["type"]),)
    validator = validator_for(function["parameters"])
    assert validator.is_valid(call)
    assert not validator.is_valid({**call, "command": 7})


@others
def test_it_may_be_insisted_on(provider: Provider) -> None:
    request = asked(BASH, {"type": "custom", "name": "f", "input_schema": {}}, tool_choice=NAMED)

    body = orjson.loads(provider.encode(request, TARGET).body)

    assert len(body["tools"]) == 2
    assert "bash" in str(body["tool_choice"])


@others
def test_a_strict_client_is_refused(provider: Provider) -> None:
    with pytest.raises(RequestRejected):
        provider.encode(replace(asked(BASH), strict=True), TARGET)


def test_anthropic_is_told_of_the_tool_itself() -> None:
    sent = Anthropic().encode(asked(BASH, MEMORY), TARGET)

    assert orjson.loads(sent.body)["tools"] == [BASH, MEMORY]
    assert sent.warnings == ()


def test_each_version_that_the_sdk_has_is_known() -> None:
    kinds = {str(fields_of(one).get("type")) for one in members(ToolUnionParam)}
    own = [kind for kind in kinds if kind.startswith(("bash_", "text_editor_", "memory_"))]

    assert len(own) >= 5
    for kind in own:
        sent = OpenAIChat().encode(asked({"type": kind, "name": "x"}), TARGET)
        assert [one["name"] for one in functions(orjson.loads(sent.body))] == ["x"]
