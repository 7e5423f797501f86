"""Where in a request values of the SDKs' types stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from anthropic.types import (
    ContentBlockParam,
    OutputConfigParam,
    ThinkingConfigParam,
    ToolChoiceParam,
    ToolUnionParam,
)
from anthropic.types.message_create_params import MessageCreateParamsBase
from openai.types.chat import (
    ChatCompletionContentPartParam,
    ChatCompletionMessageParam,
    ChatCompletionToolChoiceOptionParam,
    ChatCompletionToolUnionParam,
)
from openai.types.chat.chat_completion_content_part_image_param import ImageURL
from openai.types.chat.completion_create_params import CompletionCreateParamsBase, ResponseFormat
from openai.types.responses import (
    ResponseFormatTextConfigParam,
    ResponseInputContentParam,
    ResponseInputItemParam,
    ResponseTextConfigParam,
    ToolParam,
)
from openai.types.responses.response_create_params import ResponseCreateParamsBase, ToolChoice
from openai.types.shared_params import FunctionDefinition, Reasoning

from techniques.core.json import Json, JsonObject
from tests.translation.samples import CHAT, HELLO, MESSAGES, RESPONSES, TOOLS


@dataclass(frozen=True, eq=False)
class Place:
    """Where values of a type stand in a request: *put* returns the body with one."""

    client: str
    name: str
    kind: Any
    put: Callable[[JsonObject], JsonObject]

    @property
    def base(self) -> JsonObject:
        """The body without any."""
        return _items() if self.client == RESPONSES else _turns()


def _items(*more: Json) -> JsonObject:
    return {"input": [HELLO, *more, HELLO]}


def _turns(*more: Json) -> JsonObject:
    return {"messages": [HELLO, *more, HELLO], "max_tokens": 64}


def _turn_of(value: JsonObject) -> JsonObject:
    """Return a chat with the turn *value* in it, after the call that it answers, if it does."""
    if value["role"] in {"system", "developer"}:
        return {**_turns(), "messages": [value, HELLO]}
    call = {"id": "a", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    calls = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    return _turns(*(calls if value["role"] == "tool" else []), value)


def _block(value: JsonObject) -> JsonObject:
    """Return a conversation with the block *value* said by whom it can be said."""
    kind = str(value["type"])
    own = kind in _USERS or kind == "text"
    call = {"type": "tool_use", "id": "a", "name": "a", "input": {}}
    before = [{"role": "assistant", "content": [call]}] if kind == "tool_result" else []
    said = {"type": "text", "text": "b"}
    return _turns(*before, {"role": "user" if own else "assistant", "content": [value, said]})


_USERS: Final = frozenset(
    {"image", "document", "search_result", "tool_result", "container_upload", "tool_reference"}
)


def _at(client: str, *path: str) -> Callable[[JsonObject], JsonObject]:
    """Return what puts a value at *path* into a body of *client*'s."""

    def put(value: JsonObject) -> JsonObject:
        for name in reversed(path[1:]):
            value = {name: value}
        tools = TOOLS[client] if path[0] == "tool_choice" else {}
        return {**(_items() if client == RESPONSES else _turns()), **tools, path[0]: value}

    return put


PLACES: Final = (
    Place(CHAT, "", CompletionCreateParamsBase, lambda fields: {**_turns(), **fields}),
    Place(CHAT, "messages", ChatCompletionMessageParam, _turn_of),
    Place(
        CHAT,
        "messages.content",
        ChatCompletionContentPartParam,
        lambda part: _turns({"role": "user", "content": [part, {"type": "text", "text": "b"}]}),
    ),
    Place(CHAT, "tools", ChatCompletionToolUnionParam, lambda tool: {**_turns(), "tools": [tool]}),
    Place(
        CHAT,
        "tools.function",
        FunctionDefinition,
        lambda value: {**_turns(), "tools": [{"type": "function", "function": value}]},
    ),
    Place(
        CHAT,
        "messages.content.image_url",
        ImageURL,
        lambda value: _turns(
            {"role": "user", "content": [{"type": "image_url", "image_url": value}]}
        ),
    ),
    Place(CHAT, "response_format", ResponseFormat, _at(CHAT, "response_format")),
    Place(CHAT, "tool_choice", ChatCompletionToolChoiceOptionParam, _at(CHAT, "tool_choice")),
    Place(RESPONSES, "", ResponseCreateParamsBase, lambda fields: {**_items(), **fields}),
    Place(RESPONSES, "input", ResponseInputItemParam, lambda item: _items(item)),
    Place(
        RESPONSES,
        "input.content",
        ResponseInputContentParam,
        lambda part: _items(
            {"role": "user", "content": [part, {"type": "input_text", "text": "b"}]}
        ),
    ),
    Place(RESPONSES, "tools", ToolParam, lambda tool: {**_items(), "tools": [tool]}),
    Place(RESPONSES, "reasoning", Reasoning, _at(RESPONSES, "reasoning")),
    Place(RESPONSES, "text", ResponseTextConfigParam, _at(RESPONSES, "text")),
    Place(
        RESPONSES, "text.format", ResponseFormatTextConfigParam, _at(RESPONSES, "text", "format")
    ),
    Place(RESPONSES, "tool_choice", ToolChoice, _at(RESPONSES, "tool_choice")),
    Place(MESSAGES, "", MessageCreateParamsBase, lambda fields: {**_turns(), **fields}),
    Place(MESSAGES, "messages.content", ContentBlockParam, _block),
    Place(MESSAGES, "tools", ToolUnionParam, lambda tool: {**_turns(), "tools": [tool]}),
    Place(MESSAGES, "tool_choice", ToolChoiceParam, _at(MESSAGES, "tool_choice")),
    Place(MESSAGES, "thinking", ThinkingConfigParam, _at(MESSAGES, "thinking")),
    Place(MESSAGES, "output_config", OutputConfigParam, _at(MESSAGES, "output_config")),
)
"""All of them, each client's body first."""
