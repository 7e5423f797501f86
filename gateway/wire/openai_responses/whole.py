"""Writes a response that is not streamed."""

from __future__ import annotations

import orjson

from gateway.wire.dialect import Call, Summary, told
from gateway.wire.openai_responses.output import output_of
from gateway.wire.openai_responses.response import (
    Frame,
    ended,
    last_of,
    now,
    reported,
    response_id,
    tools_used,
)
from gateway.wire.tiers import openais
from techniques.core.reply import Reply


def whole(call: Call, reply: Reply, summary: Summary) -> bytes:
    """Return a ``response`` object as JSON."""
    name = response_id(reply.id, summary.request_id)
    frame = Frame(call, name, now(), reply.model or call.model)
    status, more = ended(reply.finish_reason)
    output = output_of(reply, frame.names, last_of(reply.finish_reason))
    if summary.trace:
        more["lockgate"] = {"trace": [told(piece) for piece in summary.trace]}
    more |= openais(reply.mode) | tools_used(reply.searches)
    usage = reported(reply.usage, summary)
    return orjson.dumps(frame.response(status, output, usage=usage, **more))
