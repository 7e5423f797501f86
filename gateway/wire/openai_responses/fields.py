"""What all that reads or writes this dialect shares: its name, and fields that are read."""

from __future__ import annotations

from gateway.wire.openai_chat.fields import Fields
from techniques.core.json import JsonObject

NAME = "openai_responses"


def others(fields: Fields, known: frozenset[str]) -> JsonObject:
    """Return the fields whose names are not *known*; those that are null say nothing."""
    return {
        name: value for name, value in fields.items() if name not in known and value is not None
    }


def is_free_form_tool(tool: object) -> bool:
    """Tell whether *tool*, of a request's body, takes free text."""
    return isinstance(tool, dict) and tool.get("type") == "custom"
