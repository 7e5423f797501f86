"""What only one provider's API can say of a conversation, in words that every model reads.

A history holds what its provider did by itself: searches, code that ran, calls to servers. A client
that moves to another provider cannot take them out, so they are told as text there, or left out,
each by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import orjson

from techniques.core.errors import RequestRejected
from techniques.core.json import Json, JsonObject
from techniques.core.request import Message, Opaque, Part, Request, Text, ToolResult

_CHAT: Final = "openai_chat"
_UNTOLD: Final = frozenset(
    {
        *("id", "type", "status", "call_id", "tool_use_id", "caller", "cache_control", "signature"),
        *("container_id", "acknowledged_safety_checks", "pending_safety_checks", "created_by"),
    }
)
"""Fields that say nothing to a model."""
_LISTS: Final = frozenset({"mcp_list_tools", "tool_search_output", "tool_search_tool_result"})
"""Items that only list tools, which a provider is told of elsewhere."""
_WHOLE: Final = frozenset(
    {"compaction", "compaction_summary", "compaction_trigger", "context_compaction"}
)
"""Items that stand for all that was said before them, or ask for such a one."""
_DEEPEST: Final = 100
_PACKED: Final = re.compile(r"[A-Za-z0-9+/=_:;,-]{128,}")
"""What no model reads: pictures as data, and what is encrypted."""


def retold(request: Request, dialect: str, drop: Callable[[str, str], None]) -> Request:
    """Return *request* with what only others than *dialect* can say told as text, or left out.

    It is *request* itself if there is nothing of that kind. *drop* is told of each by its kind.

    Raises:
        RequestRejected: The request is strict, or a model would not know what it is asked without
            what cannot be told.
    """
    if not any(_is_foreign(part, dialect) for turn in request.messages for part in _all(turn)):
        return request
    turns = [_turn(turn, dialect, drop) for turn in request.messages]
    kept = tuple(
        now for turn, now in zip(request.messages, turns, strict=True) if now.parts or now == turn
    )
    if not kept:
        raise _nothing("There is nothing in it that this provider's model can read.")
    return replace(request, messages=kept)


def _all(turn: Message) -> Iterator[Part]:
    for part in turn.parts:
        yield part
        if isinstance(part, ToolResult):
            yield from part.parts


def _is_foreign(part: Part, dialect: str) -> bool:
    return isinstance(part, Opaque) and part.dialect != dialect and _is_readable(part)


def _is_readable(part: Opaque) -> bool:
    """Tell whether *part* has fields; what is no object its codec refuses."""
    return isinstance(part.value, dict)


def _turn(turn: Message, dialect: str, drop: Callable[[str, str], None]) -> Message:
    return replace(turn, parts=tuple(_parts(turn.parts, turn.role, dialect, drop)))


def _parts(
    parts: tuple[Part, ...], role: str, dialect: str, drop: Callable[[str, str], None]
) -> Iterator[Part]:
    for part in parts:
        if isinstance(part, ToolResult):
            yield replace(part, parts=tuple(_parts(part.parts, role, dialect, drop)))
        elif not isinstance(part, Opaque) or not _is_foreign(part, dialect):
            yield part
        elif role == "assistant" or _is_output(part):
            yield from _done(part.value, drop)
        else:
            yield part  # what a user says is refused, not left out


def _is_output(part: Opaque) -> bool:
    """Tell whether *part* is what a client gave back for a call of a tool of its provider's."""
    kind = str(part.value.get("type"))
    answers = kind.endswith(("_output", "_response", "_tool_result"))
    return part.dialect != _CHAT and answers


def _done(value: JsonObject, drop: Callable[[str, str], None]) -> Iterator[Text]:
    """Yield what a provider did by itself, as text."""
    kind = str(value.get("type"))
    if kind == "thinking":
        drop("thinking_dropped", "messages")
        return
    told = None if kind in _LISTS else _told(value)
    if told is None:
        if kind in _WHOLE:
            raise _nothing(
                "What was said before can be read by its maker alone: a compaction of another "
                "provider's. Send the conversation itself."
            )
        drop("hosted_call_dropped", kind)
        return
    drop("hosted_call_as_text", kind)
    yield Text(f"[{kind}] {orjson.dumps(told).decode()}\n")


def _nothing(why: str) -> RequestRejected:
    return RequestRejected(why, code="unsupported_feature", param="messages")


def _told(value: Json, depth: int = 0) -> Json:
    """Return what a model can read of *value*, None if nothing; not what is nested too deeply."""
    if depth > _DEEPEST:
        return None
    if isinstance(value, dict):
        inner = {
            name: told
            for name, item in value.items()
            if name not in _UNTOLD and not name.startswith("encrypted")
            if (told := _told(item, depth + 1)) is not None
        }
        return inner or None
    if isinstance(value, list):
        return [told for item in value if (told := _told(item, depth + 1)) is not None] or None
    if isinstance(value, str):
        return None if not value or _PACKED.fullmatch(value) else value
    return value
