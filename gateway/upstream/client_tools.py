"""Anthropic's tools that the client carries out, as functions for models that do not know them.

Anthropic's models are taught a shell, an editor and a memory, of which a request names only the
version. Clients answer a call of one by its name and its arguments, whichever model made it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from techniques.core.json import Json, JsonObject
from techniques.core.request import Opaque, Request, Tool

_ANTHROPIC: Final = "anthropic"
_PATH: Final[JsonObject] = {"type": "string", "description": "Absolute path of a file or folder."}
_RANGE: Final[JsonObject] = {
    "type": "array",
    "items": {"type": "integer"},
    "description": "With view: the first and the last line to show, from 1; -1 is the end.",
}
_LINE: Final[JsonObject] = {
    "type": "integer",
    "description": "With insert: the line after which to insert; 0 is the start of the file.",
}
_BASH: Final = Tool(
    "bash",
    "Run a command in a bash session that stays open from call to call, and get what it prints.",
    {
        "type": "object",
        "properties": {
            "command": {
                "type": "string",
                "description": "What to run; needed unless restart is true.",
            },
            "restart": {"type": "boolean", "description": "True begins a new session."},
        },
    },
)


def _text(told: str) -> JsonObject:
    return {"type": "string", "description": told}


def _commands(*names: str) -> JsonObject:
    return {"type": "string", "enum": list(names), "description": "What to do."}


_CHANGES: Final[Mapping[str, Json]] = {
    "path": _PATH,
    "view_range": _RANGE,
    "file_text": _text("With create: all of the new file's text."),
    "old_str": _text("With str_replace: the text to replace, exactly as it is, only once there."),
    "insert_line": _LINE,
}
_NEW: Final = _text("With str_replace: the text in its place; nothing if left out.")


def _editor(name: str, fields: Mapping[str, Json], *more: str) -> Tool:
    commands = _commands("view", "create", "str_replace", "insert", *more)
    properties = {"command": commands, **_CHANGES, **fields}
    return Tool(
        name,
        "Look at text files and folders, and create and change text files.",
        {"type": "object", "properties": properties, "required": ["command", "path"]},
    )


_OLDER: Final = _editor(
    "str_replace_editor",
    {"new_str": _text("With str_replace: the text in its place. With insert: the text to insert.")},
    "undo_edit",
)
_NEWER: Final = _editor(
    "str_replace_based_edit_tool",
    {"new_str": _NEW, "insert_text": _text("With insert: the text to insert.")},
)
_MEMORY: Final = Tool(
    "memory",
    "Keep notes in files under /memories, which outlast this conversation. View that folder before "
    "anything else, and write down there what will be needed later.",
    {
        "type": "object",
        "properties": {
            "command": _commands("view", "create", "str_replace", "insert", "delete", "rename"),
            **_CHANGES,
            "new_str": _NEW,
            "insert_text": _text("With insert: the text to insert."),
            "old_path": _text("With rename: the path that it has."),
            "new_path": _text("With rename: the path that it is to have."),
        },
        "required": ["command"],
    },
)
_TOOLS: Final[Mapping[str, Tool]] = {
    "bash_20241022": _BASH,
    "bash_20250124": _BASH,
    "text_editor_20241022": _OLDER,
    "text_editor_20250124": _OLDER,
    "text_editor_20250429": _NEWER,
    "text_editor_20250728": _NEWER,
    "memory_20250818": _MEMORY,
}
"""By version, in words of our own.

Source: platform.claude.com/docs (agents and tools: bash tool, text editor tool, memory tool).
"""


def as_functions(request: Request, dialect: str, drop: Callable[[str, str], None]) -> Request:
    """Return *request* for a provider of *dialect* with these tools as functions; itself, if none.

    *drop* is told of each by its kind.

    Raises:
        RequestRejected: The request is strict.
    """
    if dialect == _ANTHROPIC or not any(map(_known, request.tools)):
        return request
    return replace(request, tools=tuple(_function(tool, drop) for tool in request.tools))


def _known(tool: Tool | Opaque) -> Tool | None:
    """Return the function that stands for *tool*, None if it is none of these."""
    own = tool.value if isinstance(tool, Opaque) and tool.dialect == _ANTHROPIC else None
    kind = own.get("type") if isinstance(own, dict) else None
    return _TOOLS.get(kind) if isinstance(kind, str) else None


def _function(tool: Tool | Opaque, drop: Callable[[str, str], None]) -> Tool | Opaque:
    function = _known(tool)
    if function is None or not isinstance(tool, Opaque):
        return tool
    drop("client_tool_as_function", str(tool.value["type"]))
    name, cache = tool.value.get("name"), tool.value.get("cache_control")
    return replace(function, name=name if isinstance(name, str) else function.name, cache=cache)
