"""Whole and sensible bodies of each surface, with all that clients commonly say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from techniques.core.json import Json

Surface = Literal[
    "/v1/chat/completions", "/v1/messages", "/v1/responses", "/api/chat", "/api/generate"
]

SCHEMA: Json = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
CHAT: Json = {
    "model": "sim-small",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": [{"type": "text", "text": "Be very brief."}]},
        {
            "role": "user",
            "name": "ann",
            "content": [
                {"type": "text", "text": "What is 2 + 2?"},
                {
                    "type": "image_url",
                    "image_url": {"url": "https://a.test/b.png", "detail": "low"},
                },
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                {
                    "type": "file",
                    "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"},
                },
            ],
        },
        {
            "role": "assistant",
            "content": "Let me see.",
            "reasoning_content": "Hm.",
            "refusal": None,
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "look_up", "arguments": '{"q": "2"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "two"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "old"},
        {"role": "user", "content": "And now?"},
    ],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "look_up",
                "description": "Finds.",
                "parameters": SCHEMA,
                "strict": True,
            },
        }
    ],
    "tool_choice": {"type": "function", "function": {"name": "look_up"}},
    "parallel_tool_calls": True,
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True, "description": "d"},
    },
    "temperature": 0.5,
    "top_p": 0.9,
    "max_completion_tokens": 50,
    "stop": ["END"],
    "seed": 1,
    "n": 1,
    "presence_penalty": 0.1,
    "frequency_penalty": 0.1,
    "logit_bias": {"5": -1},
    "reasoning_effort": "low",
    "user": "u-1",
    "metadata": {"a": "b"},
    "stream_options": {"include_usage": True},
    "reliability": {"technique": "none", "tags": "a=b"},
}
RARE: dict[Surface, Json] = {
    "/v1/chat/completions": {
        "logprobs": True,
        "top_logprobs": 2,
        "functions": [{"name": "f", "parameters": SCHEMA}],
        "function_call": "auto",
        "modalities": ["text"],
    },
    "/v1/messages": {"output_format": {"type": "json_schema", "schema": SCHEMA}, "mcp_servers": []},
    "/v1/responses": {
        "top_logprobs": 2,
        "prompt_cache_key": "k",
        "max_tool_calls": 3,
        "conversation": None,
    },
    "/api/chat": {"logprobs": True, "top_logprobs": 2},
    "/api/generate": {"raw": True, "template": "{{ .Prompt }}", "context": [1], "suffix": ""},
}
"""Fields that not every provider takes."""
MESSAGES: Json = {
    "model": "sim-small",
    "max_tokens": 2048,
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is 2 + 2?", "cache_control": {"type": "ephemeral"}},
                {"type": "image", "source": {"type": "url", "url": "https://a.test/b.png"}},
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
                },
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "AAAA"},
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": {"q": "2"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "is_error": False,
                    "content": [{"type": "text", "text": "two"}],
                }
            ],
        },
    ],
    "tools": [{"name": "look_up", "description": "Finds.", "input_schema": SCHEMA}],
    "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
    "temperature": 1.0,
    "top_k": 5,
    "top_p": 0.9,
    "stop_sequences": ["END"],
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
    "metadata": {"user_id": "u-1"},
    "reliability": {"technique": "none", "tags": "a=b"},
}
RESPONSES: Json = {
    "model": "sim-small",
    "instructions": "Be brief.",
    "input": [
        {"role": "developer", "content": "Be very brief."},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What is 2 + 2?"},
                {"type": "input_image", "image_url": "https://a.test/b.png", "detail": "low"},
                {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
                {
                    "type": "input_file",
                    "filename": "a.pdf",
                    "file_data": "data:application/pdf;base64,AAAA",
                },
            ],
        },
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "Hm."}],
            "encrypted_content": "anthropic:c2ln",
        },
        {
            "type": "message",
            "id": "msg_1",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Let me see.", "annotations": []}],
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "look_up",
            "arguments": '{"q": "2"}',
        },
        {"type": "custom_tool_call", "call_id": "call_2", "name": "patch", "input": "+ a"},
        {"type": "function_call_output", "call_id": "call_1", "output": "two"},
        {
            "type": "custom_tool_call_output",
            "call_id": "call_2",
            "output": [{"type": "input_text", "text": "done"}],
        },
        {
            "type": "tool_search_call",
            "call_id": "call_3",
            "execution": "client",
            "arguments": {"query": "agents"},
        },
        {
            "type": "tool_search_output",
            "call_id": "call_3",
            "execution": "client",
            "tools": [
                {
                    "type": "namespace",
                    "name": "agents",
                    "tools": [{"type": "function", "name": "spawn", "defer_loading": True}],
                }
            ],
        },
        {
            "type": "additional_tools",
            "role": "developer",
            "tools": [{"type": "function", "name": "more", "parameters": SCHEMA}],
        },
        {"role": "user", "content": "And now?"},
    ],
    "tools": [
        {"type": "function", "name": "look_up", "description": "Finds.", "parameters": SCHEMA},
        {"type": "custom", "name": "patch", "format": {"type": "text"}},
        {"type": "tool_search", "execution": "client", "parameters": SCHEMA},
    ],
    "tool_choice": "auto",
    "parallel_tool_calls": False,
    "text": {"format": {"type": "json_schema", "name": "a", "schema": SCHEMA}, "verbosity": "low"},
    "reasoning": {"effort": "low", "summary": "auto"},
    "include": ["reasoning.encrypted_content"],
    "max_output_tokens": 64,
    "temperature": 0.5,
    "top_p": 0.9,
    "store": False,
    "truncation": "disabled",
    "metadata": {"a": "b"},
    "user": "u-1",
    "stream_options": {"include_obfuscation": False},
    "reliability": {"technique": "none", "tags": "a=b"},
}
_OLLAMA: Json = {
    "model": "sim-small",
    "format": SCHEMA,
    "think": True,
    "keep_alive": "5m",
    "options": {
        "temperature": 0.5,
        "top_k": 5,
        "top_p": 0.9,
        "num_predict": 50,
        "stop": ["END"],
        "seed": 1,
        "num_ctx": 4096,
    },
    "reliability": {"technique": "none", "tags": "a=b"},
}
TALK: Json = {
    **_OLLAMA,
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is 2 + 2?", "images": ["iVBORw0KGgoAAAAN"]},
        {
            "role": "assistant",
            "content": "Let me see.",
            "thinking": "Hm.",
            "tool_calls": [{"id": "a1", "function": {"name": "look_up", "arguments": {"q": "2"}}}],
        },
        {"role": "tool", "tool_name": "look_up", "tool_call_id": "a1", "content": "two"},
        {"role": "user", "content": "And now?"},
    ],
    "tools": [
        {
            "type": "function",
            "function": {"name": "look_up", "description": "Finds.", "parameters": SCHEMA},
        }
    ],
}
PROMPT: Json = {
    **_OLLAMA,
    "prompt": "What is 2 + 2?",
    "system": "Be brief.",
    "images": ["iVBORw0KGgoAAAAN"],
}
WHOLE: Mapping[Surface, Json] = {
    "/v1/chat/completions": CHAT,
    "/v1/messages": MESSAGES,
    "/v1/responses": RESPONSES,
    "/api/chat": TALK,
    "/api/generate": PROMPT,
}
