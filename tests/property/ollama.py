"""Ollama's words for conversations and answers: there is no provider here that has them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from gateway.surfaces.spoken import OLLAMA
from techniques.core.json import Json
from techniques.core.reply import Reply
from techniques.core.request import (
    Image,
    Message,
    Request,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)
from tests.property.conversations import told

_OPTIONS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "max_output_tokens": "num_predict",
    "seed": "seed",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
}


def asked_in_ollama(request: Request) -> Request:
    """Return as much of *request* as a client of Ollama can say, as it is understood."""
    sampling, form, wish = request.sampling, request.response_format, request.thinking
    options = {theirs: getattr(sampling, ours) for ours, theirs in _OPTIONS.items()}
    body: dict[str, Json] = {
        "model": request.model,
        "messages": list(_turns(request.messages)),
        "tools": [_tool(tool) for tool in request.tools if isinstance(tool, Tool)],
        "options": {**options, "stop": list(sampling.stop), "num_ctx": 4096},
        "stream": request.stream,
        "think": None if wish is None else wish.effort or wish.thinks,
        "format": form and ("json" if form.kind == "json_object" else form.schema),
    }
    raw = json.dumps(body).encode()
    return OLLAMA.decode(json.loads(raw), raw).relay.decode()


def _turns(messages: Iterable[Message]) -> Iterator[Json]:
    names: dict[str, str] = {}
    for turn in messages:
        results = [part for part in turn.parts if isinstance(part, ToolResult)]
        for result in results:
            told = {"tool_name": names[result.call_id], "tool_call_id": result.call_id}
            yield {"role": "tool", **told, **_said(Message("tool", result.parts))}
        if results:
            continue
        calls = [part for part in turn.parts if isinstance(part, ToolCall)]
        names |= {call.id: call.name for call in calls}
        yield {"role": turn.role, **_said(turn), "tool_calls": [_call(call) for call in calls]}


def _said(turn: Message) -> dict[str, Json]:
    thoughts = [part.text for part in turn.parts if isinstance(part, Thinking)]
    images = [part.data for part in turn.parts if isinstance(part, Image) and part.data]
    return {"content": turn.text, "images": images, "thinking": "".join(thoughts)}


def _call(call: ToolCall) -> Json:
    return {
        "id": call.id,
        "function": {"name": call.name, "arguments": json.loads(call.arguments)},
    }


def _tool(tool: Tool) -> Json:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def told_in_ollama(raw: bytes) -> dict[str, Json]:
    """Return what the lines of *raw*, one or many, say together."""
    lines = [json.loads(line) for line in raw.splitlines()]
    messages = [line["message"] for line in lines]
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    last = lines[-1]
    assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]
    return {
        "text": "".join(message["content"] for message in messages),
        "thinking": "".join(message.get("thinking") or "" for message in messages),
        "calls": [
            (call["id"], call["function"]["name"], call["function"]["arguments"]) for call in calls
        ],
        "finish": last["done_reason"],
        "usage": (last["prompt_eval_count"], last["eval_count"]),
    }


def expected_in_ollama(reply: Reply) -> dict[str, Json]:
    """Return what Ollama's words make of *reply*: it has fewer ends, no cache and no sources."""
    said = {name: value for name, value in told(reply).items() if name != "sources"}
    read, wrote, _cached = said["usage"]
    finish = {"length": "length", "refusal": "content_filter"}.get(reply.finish_reason, "stop")
    return {**said, "finish": finish, "usage": (read, wrote)}
