"""Items of conversations of the Responses API: as they are kept, and as they are sent again. Pure.

An id names an item to a client. A provider that has not kept it does not know it by that name, so
items are sent again without theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from secrets import token_hex
from typing import Final

import orjson

from techniques.core.json import Json, JsonObject

_PREFIXES: Final[Mapping[str, str]] = {
    "message": "msg",
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctco",
    "reasoning": "rs",
    "tool_search_call": "tsc",
    "tool_search_output": "tso",
}
_NAMED: Final = frozenset({"id", "status"})
_STATELESS: Final = frozenset({"message", "reasoning"})
"""Known items of which a client may be shown one without a status."""
_PARTED: Final = ("content", "output")
_PART_DEFAULTS: Final[Mapping[str, JsonObject]] = {
    "output_text": {"annotations": []},
    "input_image": {"detail": "auto"},
}


def fresh_id(kind: str) -> str:
    """Return an id for an item of that type."""
    return f"{_PREFIXES.get(kind, 'item')}_{token_hex(24)}"


def _is_known(kind: Json) -> bool:
    return isinstance(kind, str) and kind in _PREFIXES


def kept_input(said: Json, name: Callable[[str], str] = fresh_id) -> list[JsonObject]:
    """Return what a client *said* as a list of items, each with an id.

    What is no item is left out: the dialect refuses it.
    """
    if isinstance(said, str):
        said = [{"role": "user", "content": said}]
    items = said if isinstance(said, list) else []
    return [_kept(item, name) for item in items if isinstance(item, dict)]


def _kept(item: JsonObject, name: Callable[[str], str]) -> JsonObject:
    kind = item.get("type") or ("message" if "role" in item else "")
    named = {"id": item.get("id") or name(kind if _is_known(kind) else ""), "type": kind}
    if kind != "message":
        return {**item, **named}
    content = item.get("content")
    if isinstance(content, str):
        content = [_text(content, is_answer=item.get("role") == "assistant")]
    status = item.get("status") or "completed"
    return {**item, **named, "status": status, "content": content}


def _text(text: str, *, is_answer: bool) -> JsonObject:
    if is_answer:
        return {"type": "output_text", "text": text, "annotations": []}
    return {"type": "input_text", "text": text}


def shown(item: JsonObject) -> JsonObject:
    """Return *item* as a client is told of it: with what the API has in each of its kind.

    A client may leave out what has a default when it sends an item, and counts on it in what it
    gets. What is no known item stays as it came.
    """
    kind = item.get("type")
    if not _is_known(kind):
        return item
    parts: JsonObject = {name: _shown_parts(item[name]) for name in _PARTED if name in item}
    told = {**item, **parts}
    if kind not in _STATELESS and told.get("status") is None:
        told["status"] = "completed"
    return told


def _shown_parts(content: Json) -> Json:
    if not isinstance(content, list):
        return content
    return [_shown_part(part) if isinstance(part, dict) else part for part in content]


def _shown_part(part: JsonObject) -> JsonObject:
    kind = part.get("type")
    defaults = _PART_DEFAULTS.get(kind, {}) if isinstance(kind, str) else {}
    return part | {name: one for name, one in defaults.items() if part.get(name) is None}


def sent_again(items: Iterable[JsonObject]) -> list[JsonObject]:
    """Return *items* of an earlier turn as they are sent in front of a new one."""
    return [_unnamed(item) if _is_known(item.get("type")) else item for item in items]


def _unnamed(item: JsonObject) -> JsonObject:
    return {field: value for field, value in item.items() if field not in _NAMED}


def is_bare(item: Json) -> bool:
    """Tell whether *item* is reasoning without what its maker takes back: a name, or its text."""
    is_thought = isinstance(item, dict) and item.get("type") == "reasoning"
    return is_thought and not item.get("encrypted_content")


def references(said: Json) -> list[str]:
    """Return the ids of items that *said* only refers to."""
    items = said if isinstance(said, list) else []
    return [item["id"] for item in items if _is_reference(item)]


def resolved(said: Json, known: Mapping[str, JsonObject]) -> Json:
    """Return *said* with the items that it refers to, of those that are *known*."""
    if not isinstance(said, list) or not known:
        return said
    return [_found(item, known) if _is_reference(item) else item for item in said]


def _found(item: JsonObject, known: Mapping[str, JsonObject]) -> JsonObject:
    found = known.get(item["id"])
    return item if found is None else sent_again([found])[0]


def _is_reference(item: Json) -> bool:
    if not isinstance(item, dict) or not isinstance(item.get("id"), str):
        return False
    kind = item.get("type")
    return kind == "item_reference" or (kind is None and item.keys() == {"id"})


def by_id(items: Sequence[JsonObject]) -> dict[str, JsonObject]:
    """Return *items* by their ids."""
    return {item["id"]: item for item in items if isinstance(item.get("id"), str)}


def weight(items: Mapping[str, JsonObject], times: Mapping[str, int]) -> int:
    """Return how many bytes *items* are where each stands as often as *times* says."""
    return sum(len(orjson.dumps(item)) * times[one] for one, item in items.items())
