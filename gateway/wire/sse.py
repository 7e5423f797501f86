"""What the streams of all dialects have in common that are server-sent events."""

from __future__ import annotations

from typing import Final

import orjson

from techniques.core.json import JsonObject

EVENT_STREAM: Final = b"text/event-stream; charset=utf-8"


def comment(said: JsonObject) -> bytes:
    """Return the comment in which the gateway says something of its own; clients skip it."""
    return b": lockgate %s\n\n" % orjson.dumps(said)
