"""Answers as their providers stream them, in each event that a stream has for what is in them."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from techniques.core.json import Json, JsonObject
from tests.translation.samples import CHAT, RESPONSES


def streamed(provider: str, whole: JsonObject, *more: JsonObject) -> bytes:
    """Return the stream that tells *whole*, with *more* events before its end."""
    told = {CHAT: _chunks, RESPONSES: _events}.get(provider, _raw_events)(whole)
    *first, last = told
    framed = b"".join(b"data: " + orjson.dumps(one) + b"\n\n" for one in (*first, *more, last))
    return framed + (b"data: [DONE]\n\n" if provider == CHAT else b"")


def _chunks(whole: JsonObject) -> Iterator[JsonObject]:
    """Yield the chunks of a chat completion: all that is said in one, as hosts may do."""
    (choice,) = whole["choices"]
    head = {name: value for name, value in whole.items() if name not in {"choices", "usage"}}
    head["object"] = "chat.completion.chunk"
    delta = dict(choice["message"])
    if delta.get("tool_calls"):
        delta["tool_calls"] = [
            {"index": place, **call} for place, call in enumerate(delta["tool_calls"])
        ]
    rest = {n: value for n, value in choice.items() if n not in {"message", "finish_reason"}}
    yield {**head, "choices": [{**rest, "delta": delta, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    yield {**head, "choices": [], "usage": whole["usage"]}


def _events(whole: JsonObject) -> Iterator[JsonObject]:
    """Yield the events of a response."""
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    for place, item in enumerate(whole["output"]):
        at: JsonObject = {"output_index": place}
        opened = {**item, "content": []} if item.get("type") == "message" else item
        yield {"type": "response.output_item.added", **at, "item": opened}
        for index, part in enumerate(item["content"] if item.get("type") == "message" else ()):
            yield from _part(part, {**at, "content_index": index, "item_id": item.get("id")})
        yield {"type": "response.output_item.done", **at, "item": item}
    yield {"type": f"response.{whole['status']}", "response": whole}


def _part(part: JsonObject, at: JsonObject) -> Iterator[JsonObject]:
    kind = part["type"]
    text = part.get("text", part.get("refusal"))
    yield {"type": f"response.{kind}.delta", **at, "delta": text, "logprobs": part.get("logprobs")}
    for index, one in enumerate(part.get("annotations") or ()):
        told = {"annotation": one, "annotation_index": index}
        yield {"type": "response.output_text.annotation.added", **at, **told}


def _raw_events(whole: JsonObject) -> Iterator[JsonObject]:
    """Yield the events of a message."""
    ends = ("stop_reason", "stop_sequence", "stop_details", "container")
    delta = {name: whole[name] for name in ends if name in whole}
    head = {name: value for name, value in whole.items() if name not in delta}
    yield {"type": "message_start", "message": {**head, "content": []}}
    for index, block in enumerate(whole["content"]):
        start, deltas = _opened(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for one in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": one}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": delta, "usage": whole["usage"]}
    yield {"type": "message_stop"}


def _opened(block: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
    """Return *block* as it begins, and what comes after that."""
    start, deltas = dict(block), []
    for name, kind in (("text", "text_delta"), ("thinking", "thinking_delta")):
        if name in block:
            deltas.append({"type": kind, name: start[name]})
            start[name] = ""
    if "signature" in block:
        deltas.append({"type": "signature_delta", "signature": start["signature"]})
        start["signature"] = ""
    if isinstance(block.get("input"), dict):
        told: Json = orjson.dumps(start["input"]).decode()
        deltas.append({"type": "input_json_delta", "partial_json": told})
        start["input"] = {}
    for one in start.pop("citations", None) or ():
        deltas.append({"type": "citations_delta", "citation": one})
    return start, deltas
