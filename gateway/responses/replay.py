"""The stream of a response that is kept: as few events as say all of it. Pure.

What was streamed at first had its text in many pieces. Of these nothing is kept, so who goes on
behind one of them gets what comes after it by its number, and in any case the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from techniques.core.json import Json, JsonObject
from techniques.core.lines import on_a_line

_NUMBER: Final = re.compile(rb'"sequence_number":\s*(\d+)')
_ENDS: Final = {"incomplete": "incomplete", "failed": "failed", "cancelled": "failed"}


def replayed(told: JsonObject, after: int = -1) -> list[bytes]:
    """Return the frames of the stream that ends with *told*, those behind the number *after*."""
    events = list(_events(told))
    frames = [_frame(event, number) for number, event in enumerate(events) if number > after]
    return frames or [_frame(events[-1], after + 1)]


def ending(told: JsonObject, number: int) -> bytes:
    """Return the last frame of a stream, which is *told* and has that *number*."""
    return _frame(_end(told), number)


def number_of(frame: bytes) -> int | None:
    """Return the number of a frame, None if it has none."""
    found = _NUMBER.findall(frame)
    return int(found[-1]) if found else None


def _events(told: JsonObject) -> Iterator[JsonObject]:
    nothing: JsonObject = {"output": [], "usage": None, "completed_at": None, "error": None}
    begun = told | nothing | {"status": "in_progress", "incomplete_details": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(told.get("output") or ()):
        at = {"output_index": index}
        yield {"type": "response.output_item.added", **at, "item": _opened(item)}
        yield from _item(item, at | {"item_id": item.get("id")})
        yield {"type": "response.output_item.done", **at, "item": item}
    yield _end(told)


def _end(told: JsonObject) -> JsonObject:
    kind = _ENDS.get(str(told.get("status")), "completed")
    return {"type": f"response.{kind}", "response": told}


def _opened(item: JsonObject) -> JsonObject:
    """Return *item* as it is told of before anything stands in it."""
    empty: dict[str, Json] = {"content": [], "summary": [], "arguments": "", "input": ""}
    begun = {name: empty.get(name, value) for name, value in item.items()}
    return begun | ({"status": "in_progress"} if "status" in item else {})


def _item(item: JsonObject, at: JsonObject) -> Iterator[JsonObject]:
    match item.get("type"):
        case "message":
            for index, part in enumerate(item.get("content") or ()):
                yield from _part(part, at | {"content_index": index})
        case "reasoning":
            for index, part in enumerate(item.get("summary") or ()):
                yield from _summary(part, at | {"summary_index": index})
        case "function_call":
            yield from _text("function_call_arguments", at, "arguments", item)
        case "custom_tool_call":
            yield from _text("custom_tool_call_input", at, "input", item)
        case _:
            pass


def _part(part: JsonObject, at: JsonObject) -> Iterator[JsonObject]:
    field = "refusal" if part.get("type") == "refusal" else "text"
    kind = "refusal" if field == "refusal" else "output_text"
    yield {"type": "response.content_part.added", **at, "part": part | {field: ""}}
    more = {"logprobs": part.get("logprobs") or []} if field == "text" else {}
    yield from _text(kind, at | more, field, part)
    yield {"type": "response.content_part.done", **at, "part": part}


def _summary(part: JsonObject, at: JsonObject) -> Iterator[JsonObject]:
    yield {"type": "response.reasoning_summary_part.added", **at, "part": part | {"text": ""}}
    yield from _text("reasoning_summary_text", at, "text", part)
    yield {"type": "response.reasoning_summary_part.done", **at, "part": part}


def _text(kind: str, at: JsonObject, field: str, part: JsonObject) -> Iterator[JsonObject]:
    text = part.get(field) or ""
    named = {"name": part["name"]} if "name" in part else {}
    yield {"type": f"response.{kind}.delta", **at, "delta": text}
    yield {"type": f"response.{kind}.done", **at, **named, field: text}


def _frame(event: JsonObject, number: int) -> bytes:
    data = on_a_line({**event, "sequence_number": number})
    return b"event: %b\ndata: %b\n\n" % (str(event["type"]).encode(), data)
