"""Values of the types that the SDKs have, each of which asks for something."""

from __future__ import annotations

import collections.abc
import types
from collections.abc import Iterator, Mapping
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
)

from typing_extensions import get_type_hints, is_typeddict

from techniques.core.json import Json, JsonObject

CHAT: Final = "openai_chat"
RESPONSES: Final = "openai_responses"
MESSAGES: Final = "anthropic"
HELLO: Final[JsonObject] = {"role": "user", "content": "a"}
_SCHEMA: Final = {"type": "object", "properties": {}, "additionalProperties": False}
_FUNCTION: Final = {"name": "f", "parameters": _SCHEMA}
TOOLS: Final[Mapping[str, JsonObject]] = {
    CHAT: {"tools": [{"type": "function", "function": _FUNCTION}]},
    RESPONSES: {"tools": [{"type": "function", **_FUNCTION}]},
    MESSAGES: {"tools": [{"name": "f", "input_schema": _SCHEMA}]},
}
_VALUES: Final[Mapping[str, Json]] = {
    "arguments": "{}",
    "data": "AAAA",
    "detail": "low",
    "file_data": "data:application/pdf;base64,JVBE",
    "file_url": "https://a.test/b.pdf",
    "filename": "b.pdf",
    "format": "wav",
    "function": {"name": "f", "arguments": "{}"},
    "image_url": "https://a.test/b.png",
    "media_type": "image/png",
    "model": "m",
    "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
    "url": "https://a.test/b",
}
"""Values that are read, where the field's type alone does not tell of it."""


def sample(kind: Any) -> Json:
    """Return a value of the type *kind*: a text, or of several the last, with what is required."""
    origin = get_origin(kind)
    if origin in {Annotated, Required, NotRequired}:
        return sample(get_args(kind)[0])
    if is_typeddict(kind):
        return fields_of(kind)
    if origin is Literal:
        return get_args(kind)[-1]
    if origin in {Union, types.UnionType}:
        kinds = [one for one in get_args(kind) if one is not type(None)]
        return "a" if str in kinds else sample(kinds[-1])
    return _plain(kind, origin)


def _plain(kind: Any, origin: Any) -> Json:
    if origin in {dict, collections.abc.Mapping}:
        return {"a": sample(get_args(kind)[1])}
    if origin is not None and get_args(kind):
        return [sample(get_args(kind)[0])]
    known: dict[Any, Json] = {bool: True, int: 1, float: 0.5}
    return known.get(kind, "a")


def fields_of(kind: Any, *more: str) -> JsonObject:
    """Return an object of the type *kind* with its required fields, and *more* of them."""
    hints = get_type_hints(kind, include_extras=True)
    wanted = [name for name, hint in hints.items() if is_required(hint) or name in more]
    made = {name: value_of(name, hints[name], kind) for name in wanted}
    return {**made, **_WITH.get(kind.__name__, {})}


def value_of(name: str, hint: Any, kind: Any) -> Json:
    """Return a value for the field *name* of *kind* that asks for something."""
    given = _GIVEN.get(kind.__name__, {})
    if name in given:
        return given[name]
    made = sample(hint)
    return _VALUES[name] if made == "a" and name in _VALUES else made


def is_required(hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        return is_required(get_args(hint)[0])
    return get_origin(hint) is Required


def members(kind: Any) -> Iterator[Any]:
    """Yield the types of objects that *kind* may be."""
    if get_origin(kind) is Annotated:
        yield from members(get_args(kind)[0])
    elif is_typeddict(kind):
        yield kind
    else:
        for one in get_args(kind):
            yield from members(one)


_FILE: Final = {"file_data": "data:application/pdf;base64,JVBE", "filename": "b.pdf"}
_GIVEN: Final[Mapping[str, JsonObject]] = {
    "CompletionCreateParamsBase": {
        "function_call": {"name": "f"},
        "functions": [_FUNCTION],
        "max_completion_tokens": 77,
        "max_tokens": 77,
        "messages": [HELLO, {"role": "user", "content": "b"}],
        "modalities": ["text", "audio"],
        "model": "m",
        "n": 2,
        "parallel_tool_calls": False,
        "prompt_cache_options": {"ttl": "30m"},
        "reasoning_effort": "high",
        "response_format": {"type": "json_object"},
        "service_tier": "flex",
        "stream_options": {"include_usage": True},
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "tools": [{"type": "function", "function": _FUNCTION}],
        "web_search_options": {"search_context_size": "low"},
    },
    "ResponseCreateParamsBase": {
        "background": True,
        "include": ["message.output_text.logprobs"],
        "input": "b",
        "model": "m",
        "max_output_tokens": 77,
        "parallel_tool_calls": False,
        "prompt_cache_options": {"ttl": "30m"},
        "reasoning": {"effort": "high"},
        "service_tier": "flex",
        "text": {"format": {"type": "json_object"}, "verbosity": "low"},
        "tool_choice": {"type": "function", "name": "f"},
        "tools": [{"type": "function", **_FUNCTION}],
        "truncation": "auto",
    },
    "MessageCreateParamsBase": {
        "max_tokens": 77,
        "messages": [HELLO, {"role": "user", "content": "b"}],
        "metadata": {"user_id": "u"},
        "model": "m",
        "output_config": {"format": {"type": "json_schema", "schema": _SCHEMA}},
        "speed": "fast",
        "service_tier": "standard_only",
        "thinking": {"type": "enabled", "budget_tokens": 2048},
        "tool_choice": {"type": "tool", "name": "f"},
        "tools": [{"name": "f", "input_schema": _SCHEMA}],
    },
    "EasyInputMessageParam": {"role": "assistant"},
    "Message": {"role": "user"},
    "ChatCompletionAssistantMessageParam": {
        "content": "b",
        "function_call": {"name": "f", "arguments": "{}"},
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        ],
    },
    "File": {"file": _FILE},
    "FunctionCallOutput": {"call_id": "a"},
    "FunctionToolParam": {"parameters": _SCHEMA},
    "ResponseFunctionWebSearchParam": {"action": {"type": "search", "query": "b"}},
    "ChatCompletionAllowedToolChoiceParam": {
        "allowed_tools": {"mode": "auto", "tools": TOOLS[CHAT]["tools"]}
    },
    "ToolChoiceAllowedParam": {"mode": "auto", "tools": [{"type": "function", "name": "f"}]},
    "ResponseInputFileParam": {"file_id": "file_1"},
    "ResponseInputImageParam": {"file_id": "file_1", "detail": "auto"},
    "ResponseOutputMessageParam": {"content": [{"type": "output_text", "text": "b"}]},
    "ResponseReasoningItemParam": {"encrypted_content": "gAAA"},
    "AdditionalTools": {"tools": [{"type": "function", **_FUNCTION}]},
    "ResponseToolSearchOutputItemParamParam": {"tools": [{"type": "function", **_FUNCTION}]},
    "NamespaceToolParam": {"tools": [{"type": "function", **_FUNCTION}]},
    "ImageBlockParam": {"source": {"type": "url", "url": "https://a.test/b.png"}},
    "DocumentBlockParam": {
        "source": {"type": "text", "media_type": "text/plain", "data": "c"},
        "citations": {"enabled": True},
    },
    "SearchResultBlockParam": {"citations": {"enabled": True}},
    "ToolResultBlockParam": {"content": "c"},
    "ToolUseBlockParam": {"name": "f"},
}
"""By type, values of its fields that ask for something, or are valid."""


_WITH: Final[Mapping[str, JsonObject]] = {
    "ResponseInputFileParam": _FILE,
    "ResponseInputImageParam": {"image_url": "https://a.test/b.png"},
    "FunctionCallOutput": {"call_id": "a"},
    "ResponseToolSearchOutputItemParamParam": {"call_id": "a"},
    "ToolSearchCall": {"call_id": "a", "arguments": {"query": "b"}},
}
"""By type, what must be in a value of it beside what the type says."""
BESIDE: Final[Mapping[tuple[str, str], JsonObject]] = {
    (CHAT, "function_call"): {"functions": [_FUNCTION]},
    (CHAT, "top_logprobs"): {"logprobs": True},
    **{(client, "tool_choice"): tools for client, tools in TOOLS.items()},
    **{(client, "parallel_tool_calls"): tools for client, tools in TOOLS.items()},
}
"""What a field of a body means nothing without."""
