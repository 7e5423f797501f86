"""JSON that stands on a line of a stream."""

from __future__ import annotations

from typing import Any, Final

import orjson

_ENDS: Final = tuple((end.encode(), b"\\u%04x" % ord(end)) for end in "\u0085\u2028\u2029")


def on_a_line(value: Any) -> bytes:
    """Return *value* as JSON that every client takes for a part of one line."""
    return escaped(orjson.dumps(value))


def escaped(told: bytes) -> bytes:
    """Return the JSON *told* without ends of lines.

    Some clients look for these in the decoded text, where three more characters are such ends.
    In JSON they can only stand in strings, so they can be escaped.
    """
    if not told.isascii():
        for end, written in _ENDS:
            told = told.replace(end, written)
    return told
