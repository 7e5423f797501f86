"""Writes a response that is not streamed."""

from __future__ import annotations

import orjson

from gateway.wire.dialect import Call, Summary, told
from gateway.wire.ollama.common import GAP, asked_name, calls_of, ending, logprobs_of, now
from gateway.wire.ollama.shape import Shape
from techniques.core.json import JsonObject
from techniques.core.reply import Reply


def whole(call: Call, reply: Reply, summary: Summary, shape: Shape) -> bytes:
    """Return the answer in *shape* as JSON."""
    text = GAP.join(filter(None, (reply.text, reply.refusal)))
    body: JsonObject = {
        "model": asked_name(call),
        "created_at": orjson.Fragment(now()),
        **shape.whole(text, reply.thinking, calls_of(reply.tool_calls)),
        **ending(call, reply.finish_reason, reply.usage, summary),
        **logprobs_of(reply.logprobs),
    }
    if summary.trace:
        body["lockgate"] = {
            **body.get("lockgate", {}),
            "trace": [told(piece) for piece in summary.trace],
        }
    return orjson.dumps(body)
