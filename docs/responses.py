"""What the documents show of the Responses API: what becomes of each field at other providers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import orjson

from gateway.upstream.provider import Provider, Target
from gateway.upstream.providers.anthropic import Anthropic
from gateway.upstream.providers.openai_chat import OpenAIChat
from gateway.upstream.shared import taken_by
from gateway.wire.openai_responses import OpenAIResponses
from techniques.core.errors import RequestRejected
from techniques.core.json import Json

_DIALECT: Final = OpenAIResponses()
_PROVIDERS: Final[tuple[tuple[Provider, Target], ...]] = (
    (OpenAIChat(), Target("m", "p", "m", takes=taken_by("openai"))),
    (OpenAIChat(), Target("m", "p", "m")),
    (Anthropic(), Target("m", "p", "m")),
)
_SCHEMA: Final = {"type": "object", "properties": {}}


def _user(*parts: Json) -> dict[str, Json]:
    return {"input": [{"role": "user", "content": list(parts)}]}


def _items(*items: Json) -> dict[str, Json]:
    return {"input": [*items, {"role": "user", "content": "a"}]}


_CALL: Final = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
_LATE: Final = {"type": "function", "name": "f", "defer_loading": True}
_ASKED: Final[Mapping[str, Mapping[str, Json]]] = {
    "`input` a text; messages of all roles; `instructions`": {"instructions": "a", "input": "a"},
    "`input_text`, `output_text`, `refusal`": _items(
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "a"}]}
    ),
    "`input_image` by URL or data": _user({"type": "input_image", "image_url": "https://a/b.png"}),
    "`input_image` by `file_id`": _user({"type": "input_image", "file_id": "f"}),
    "`input_file` by data": _user({"type": "input_file", "file_data": "JVBE", "filename": "a"}),
    "`input_file` by URL": _user({"type": "input_file", "file_url": "https://a/b.pdf"}),
    "`input_file` by `file_id`": _user({"type": "input_file", "file_id": "f"}),
    "`input_audio`": _user(
        {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}}
    ),
    "`function_call`, `function_call_output`": _items(
        _CALL, {"type": "function_call_output", "call_id": "c", "output": "a"}
    ),
    "`reasoning` with text alone": _items(
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "a"}]}, _CALL
    ),
    "`reasoning` that an Anthropic model signed": _items(
        {"type": "reasoning", "summary": [], "encrypted_content": "anthropic:c2ln"}, _CALL
    ),
    "`reasoning` that a Responses provider encrypted": _items(
        {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}, _CALL
    ),
    "`item_reference`": _items({"type": "item_reference", "id": "m"}),
    "calls of OpenAI's own tools, and what they gave": _items(
        {"type": "code_interpreter_call", "id": "c", "code": "1 + 1"}
    ),
    "such calls without words": _items({"type": "web_search_call", "id": "w"}),
    "`compaction`": _items({"type": "compaction", "encrypted_content": "gAAA"}),
    "function tools": {"tools": [{"type": "function", "name": "f", "parameters": _SCHEMA}]},
    "custom tools, `custom_tool_call`": {"tools": [{"type": "custom", "name": "f"}]},
    "`tool_search` that the client carries out, `tool_search_call`": {
        "tools": [{"type": "tool_search", "execution": "client"}]
    },
    "tools that `tool_search_output` or `additional_tools` bring": _items(
        {"type": "additional_tools", "role": "developer", "tools": [_LATE]}
    ),
    "`defer_loading` of a tool that no search brought": {"tools": [_LATE]},
    "OpenAI's own tools (`web_search`, `mcp`, `local_shell` …)": {"tools": [{"type": "mcp"}]},
    "`tool_choice`, also `allowed_tools`; `parallel_tool_calls`": {"tool_choice": "required"},
    "`text.format`": {"text": {"format": {"type": "json_schema", "name": "a", "schema": _SCHEMA}}},
    "`text.verbosity` other than `medium`": {"text": {"verbosity": "low"}},
    "`temperature`, `top_p`, `max_output_tokens`": {"temperature": 0.5, "max_output_tokens": 64},
    "`top_logprobs`, `include: [message.output_text.logprobs]`": {"top_logprobs": 1},
    "`metadata` (the response has it in any case)": {"metadata": {"a": "b"}},
    "`user`; `safety_identifier` in its place": {"safety_identifier": "a"},
    "`prompt_cache_key`": {"prompt_cache_key": "a"},
    "`service_tier` other than `auto`, `default`": {"service_tier": "flex"},
    "`prompt_cache_options`, `prompt_cache_retention`": {"prompt_cache_options": {"ttl": "30m"}},
    "`moderation`": {"moderation": {"model": "omni-moderation-latest"}},
    "`truncation: auto`": {"truncation": "auto"},
    "`prompt`": {"prompt": {"id": "p"}},
    "`conversation`": {"conversation": "c"},
    "fields that nobody here knows": {"from_the_future": 1},
}


def rows() -> Iterator[tuple[str, ...]]:
    """Yield what is asked for, and what becomes of it at each other provider."""
    for told, fields in _ASKED.items():
        yield told, *(_outcome(fields, provider, target) for provider, target in _PROVIDERS)


def _outcome(fields: Mapping[str, Json], provider: Provider, target: Target) -> str:
    body = {"model": "m", "input": "a", **fields}
    try:
        request = _DIALECT.decode(body, orjson.dumps(body)).relay.decode()
        call = provider.encode(request, target)
    except RequestRejected as refused:
        return f"400 `{refused.code}`"
    return ", ".join(f"`{warning.code}`" for warning in call.warnings) or "said"
