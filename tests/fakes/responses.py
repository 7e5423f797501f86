"""What a Responses API says: whole, and as a stream with its full grammar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from techniques.core.json import Json
from tests.fakes import script
from tests.fakes.script import Answer

Item = dict[str, Json]
Grown = tuple[Item, Sequence[str]]
"""An item as it is at its end, and the pieces in which its text comes."""
_FIELDS: Mapping[str, Json] = {
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "service_tier": "default",
    "store": False,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}


def counts(given: int = 12, output: int = 4, *, cached: int = 0, thought: int = 0) -> Item:
    """Return a usage object."""
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": thought},
        "total_tokens": given + output,
    }


def message(text: str, name: str = "msg_77", **more: Json) -> Item:
    """Return a message with one text."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": [], **more}
    return _item("message", name, role="assistant", content=[part])


def refusal(text: str, name: str = "msg_77") -> Item:
    """Return a message that is a refusal."""
    part = {"type": "refusal", "refusal": text}
    return _item("message", name, role="assistant", content=[part])


def reasoning(*summary: str, encrypted: str | None = None, name: str = "rs_77") -> Item:
    """Return a reasoning item."""
    parts = [{"type": "summary_text", "text": text} for text in summary]
    item: Item = {"id": name, "type": "reasoning", "summary": parts}
    return item if encrypted is None else {**item, "encrypted_content": encrypted}


def call(tool: str, arguments: str, call_id: str, name: str = "fc_77") -> Item:
    """Return a call of a function."""
    return _item("function_call", name, arguments=arguments, call_id=call_id, name=tool)


def custom_call(tool: str, text: str, call_id: str, name: str = "ctc_77") -> Item:
    """Return a call of a tool that takes plain text."""
    return _item("custom_tool_call", name, call_id=call_id, name=tool, input=text)


def _item(kind: str, name_: str, **fields: Json) -> Item:
    return {"id": name_, "type": kind, "status": "completed", **fields}


def response(
    output: Sequence[Item], status: str = "completed", *, used: Json = None, **more: Json
) -> Item:
    """Return a response object."""
    top = {"id": "resp_77", "object": "response", "created_at": 1754000000, "status": status}
    told = counts() if used is None else used
    return {**top, **_FIELDS, "model": "real-rs", "output": list(output), "usage": told, **more}


def whole(*output: Item, status: str = "completed", used: Json = None, **more: Json) -> Answer:
    """Answer with one whole response."""
    return script.body(response(output, status, used=used, **more))


def streamed(*items: Grown, status: str = "completed", used: Json = None, **more: Json) -> Answer:
    """Answer with a stream, each event a write of its own."""
    return script.sse(*events(*items, status=status, used=used, **more))


def events(
    *items: Grown, status: str = "completed", used: Json = None, **more: Json
) -> list[bytes]:
    """Return the events of a whole stream."""
    number = count()

    def event(name: str, fields: Item) -> bytes:
        return script.event(f"response.{name}", sequence_number=next(number), **fields)

    begun = response([], "in_progress", usage=None, **more)
    told = [event(name, {"response": begun}) for name in ("created", "in_progress")]
    for place, (item, pieces) in enumerate(items):
        told += [event(name, fields) for name, fields in _grown(place, item, pieces)]
    ended = response([item for item, _ in items], status, used=used, **more)
    return [*told, event(status, {"response": ended})]


def _grown(place: int, item: Item, pieces: Sequence[str]) -> Iterator[tuple[str, Item]]:
    at = {"item_id": item["id"], "output_index": place}
    yield "output_item.added", {"output_index": place, "item": _empty(item)}
    match item["type"]:
        case "message":
            yield from _content({**at, "content_index": 0}, item["content"][0], pieces)
        case "reasoning":
            for index, part in enumerate(item["summary"]):
                yield from _summary({**at, "summary_index": index}, part, pieces)
        case "function_call":
            told = {"name": item["name"], "arguments": item["arguments"]}
            yield from _text(at, "function_call_arguments", pieces, told)
        case "custom_tool_call":
            yield from _text(at, "custom_tool_call_input", pieces, {"input": item["input"]})
        case _:
            pass
    yield "output_item.done", {"output_index": place, "item": item}


def _empty(item: Item) -> Item:
    none: dict[str, Json] = {"content": [], "summary": [], "arguments": "", "input": ""}
    begun = {name: none.get(name, value) for name, value in item.items()}
    if "status" in begun:
        begun["status"] = "in_progress"
    return begun


def _content(at: Item, part: Item, pieces: Sequence[str]) -> Iterator[tuple[str, Item]]:
    what = part["type"]
    field = "text" if what == "output_text" else "refusal"
    yield "content_part.added", {**at, "part": {**part, field: ""}}
    told: Item = {field: part[field]}
    if what == "output_text":
        told["logprobs"] = part["logprobs"]
    yield from _text(at, what, pieces, told)
    yield "content_part.done", {**at, "part": part}


def _summary(at: Item, part: Item, pieces: Sequence[str]) -> Iterator[tuple[str, Item]]:
    own = pieces if "".join(pieces) == part["text"] else [part["text"]]
    yield "reasoning_summary_part.added", {**at, "part": {**part, "text": ""}}
    yield from _text(at, "reasoning_summary_text", own, {"text": part["text"]})
    yield "reasoning_summary_part.done", {**at, "part": part}


def _text(at: Item, what: str, pieces: Sequence[str], told: Item) -> Iterator[tuple[str, Item]]:
    for piece in pieces:
        logprobs: Item = {"logprobs": []} if what == "output_text" else {}
        yield f"{what}.delta", {**at, "delta": piece, **logprobs, "obfuscation": "Xw4q"}
    yield f"{what}.done", {**at, **told}
