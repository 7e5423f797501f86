"""What the streams of all dialects have in common that are server-sent events."""

from __future__ import annotations

from typing import Final

from techniques.core.json import JsonObject
from techniques.core.lines import on_a_line

EVENT_STREAM: Final = b"text/event-stream; charset=utf-8"


def comment(said: JsonObject) -> bytes:
    """Return the comment in which the gateway says something of its own; clients skip it."""
    return b": lockgate %s\n\n" % on_a_line(said)
