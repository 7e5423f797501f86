"""What tests of the Responses dialect share: calls, frames, and the SDK's own idea of them."""

from __future__ import annotations

import orjson
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from gateway.wire.dialect import Call, Encoder, Summary
from gateway.wire.openai_responses import OpenAIResponses
from pricing.usage import Usage
from techniques.core.events import Event
from techniques.core.json import Json, JsonObject
from techniques.core.reply import Fold
from techniques.core.request import Request

DIALECT = OpenAIResponses()
QUIET = Summary(Usage(10, 5), 1, "0.1", "operator")
TOLD = Summary(Usage(30, 15), 3, "0.3", "operator", {"request_id": "req1"}, request_id="req1")
FUNCTION: JsonObject = {"type": "function", "name": "f", "parameters": {"type": "object"}}
CUSTOM: JsonObject = {"type": "custom", "name": "patch", "description": "Change a file."}

_EVENTS: TypeAdapter[Json] = TypeAdapter(ResponseStreamEvent)


def call(**fields: Json) -> Call:
    body = {"model": "fast", "input": "hi", **fields}
    return DIALECT.decode(body, orjson.dumps(body))


def decoded(**fields: Json) -> Request:
    return call(**fields).relay.decode()


def encoder(**fields: Json) -> Encoder:
    return DIALECT.encoder(call(stream=True, **fields), "req1", "fast")


def frames(data: bytes) -> list[JsonObject]:
    """Return the events in *data*, each of which the SDK can read and has the next number."""
    told = []
    for frame in data.split(b"\n\n"):
        if not frame.startswith(b"event: "):
            assert not frame or frame.startswith(b": "), frame
            continue
        name, line = frame.split(b"\n")
        body = orjson.loads(line.removeprefix(b"data: "))
        assert name.removeprefix(b"event: ").decode() == body["type"]
        _EVENTS.validate_python(body)
        told.append(body)
    assert [body["sequence_number"] for body in told] == list(range(len(told)))
    return told


def streamed(to: Encoder, *events: Event, summary: Summary = TOLD) -> list[JsonObject]:
    return frames(b"".join(map(to.feed, events)) + to.end(summary))


def kinds(told: list[JsonObject]) -> list[str]:
    return [body["type"].removeprefix("response.") for body in told]


def whole(*events: Event, summary: Summary = TOLD, **fields: Json) -> JsonObject:
    """Return the body of an answer that is not streamed, which the SDK can read."""
    folded = Fold()
    for event in events:
        folded.feed(event)
    body: JsonObject = orjson.loads(DIALECT.whole(call(**fields), folded.reply(), summary))
    Response.model_validate(body)
    return body
