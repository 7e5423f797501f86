"""Writes a response that is not streamed."""

from __future__ import annotations

import orjson

from gateway.wire.dialect import Call, Summary, told
from gateway.wire.openai_chat import custom
from gateway.wire.openai_chat.common import (
    annotation,
    answer_id,
    created,
    is_legacy,
    reason_of,
    reported,
    thought,
)
from gateway.wire.openai_chat.fields import NAME
from gateway.wire.tiers import openais
from techniques.core.json import Json, JsonObject
from techniques.core.reply import Reply
from techniques.core.request import Opaque, ToolCall


def whole(call: Call, reply: Reply, summary: Summary) -> bytes:
    """Return a ``chat.completion`` object as JSON."""
    replies = (reply, *reply.others)
    body: JsonObject = {
        "id": answer_id(reply.id, _request_id(summary)),
        "object": "chat.completion",
        "created": created(),
        "model": reply.model or call.model,
        "system_fingerprint": reply.fingerprint or None,
        "choices": [_choice(call, one, index) for index, one in enumerate(replies)],
        "usage": reported(reply.used, summary),
    }
    body |= openais(reply.mode)
    if summary.trace:
        body["lockgate"] = {"trace": [told(piece) for piece in summary.trace]}
    return orjson.dumps(body)


def _request_id(summary: Summary) -> str:
    named = (summary.trailer or {}).get("request_id")
    return named if isinstance(named, str) else ""


def _choice(call: Call, reply: Reply, index: int) -> JsonObject:
    legacy = is_legacy(call)
    return {
        "index": index,
        "message": _message(call, reply, legacy=legacy),
        "logprobs": reply.logprobs,
        "finish_reason": reason_of(reply.finish_reason, legacy=legacy),
    }


def _message(asked: Call, reply: Reply, *, legacy: bool) -> JsonObject:
    calls = reply.tool_calls
    content: Json = reply.text
    if not content and (calls or reply.refusal):
        content = None
    message: JsonObject = {
        "role": "assistant",
        "content": content,
        "refusal": reply.refusal or None,
    }
    if reply.thinking:
        message |= thought(asked, reply.thinking)
    message |= _details(reply)
    if told := [one for one in map(annotation, reply.citations) if one]:
        message["annotations"] = told
    if calls and legacy:
        message["function_call"] = _function(calls[0])
    elif calls:
        free = custom.names_of(asked)
        message["tool_calls"] = [
            custom.written(call) if call.name in free else _call(call) for call in calls
        ]
    return message


def _details(reply: Reply) -> JsonObject:
    """Return what the provider wants back of its reasoning, unchanged; its pieces in one list."""
    merged: JsonObject = {}
    for part in reply.parts:
        if isinstance(part, Opaque) and part.thinking and part.dialect == NAME:
            for name, pieces in part.value.items():
                merged[name] = [*merged.get(name, []), *pieces]
    return merged


def _call(call: ToolCall) -> JsonObject:
    return {**call.extra, "id": call.id, "type": "function", "function": _function(call)}


def _function(call: ToolCall) -> JsonObject:
    return {"name": call.name, "arguments": call.arguments or "{}"}
