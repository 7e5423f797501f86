"""Reads along with the bytes of an answer, and says in them what is true here. Pure.

An answer is written by the dialect, or is a provider's own. Whichever it is, some frames of its
stream have the whole response in them, and in these stand what only the gateway knows: whether it
is kept, and what it goes on with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import orjson

from techniques.core.json import Json, JsonObject
from techniques.core.lines import on_a_line

_ENDS: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})
_MARKS: Final = (b'"response":{', b'"response": {')
"""In a frame that has a response; what stands in a text has its quotes escaped."""


class Frames:
    """The frames of one stream. What *says* has is put into each response that comes by.

    Attributes:
        told: The last response that came by, None before the first.
        has_ended: It is the one at the end.
    """

    def __init__(self, says: Mapping[str, Json]) -> None:
        self.says = says
        self.told: JsonObject | None = None
        self.has_ended = False
        self._rest = b""
        self._returned = False  # whether a CR came last, of which an LF is a part

    def pass_on(self, data: bytes) -> bytes:
        """Return *data* as the client gets it, with LF for line ends; what is no frame yet is held.

        Some servers end their lines in CRLF, and no blank line of theirs is two LF.
        """
        data = self._with_lf(data)
        if not self._rest and data.endswith(b"\n\n") and not _is_marked(data):
            return data
        whole, cut, self._rest = (self._rest + data).rpartition(b"\n\n")
        if not cut:
            return b""
        if not _is_marked(whole):
            return whole + cut
        return b"".join(self._said(frame) + b"\n\n" for frame in whole.split(b"\n\n"))

    def _with_lf(self, data: bytes) -> bytes:
        if self._returned and data:
            data = data.removeprefix(b"\n")
            self._returned = False
        if data.find(b"\r") == -1:
            return data
        self._returned = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def rest(self) -> bytes:
        """Return what is held."""
        rest, self._rest = self._rest, b""
        return rest

    def _said(self, frame: bytes) -> bytes:
        if not _is_marked(frame):
            return frame
        lines = frame.split(b"\n")
        return b"\n".join(self._line(line) for line in lines)

    def _line(self, line: bytes) -> bytes:
        if not line.startswith(b"data:"):
            return line
        try:
            event = orjson.loads(line[5:])
        except orjson.JSONDecodeError:
            return line
        if not isinstance(event, dict) or not is_response(event.get("response")):
            return line
        event["response"] = self.told = event["response"] | self.says
        self.has_ended = event.get("type") in _ENDS
        if not self.says:
            return line
        return b"data: " + on_a_line(event)


def is_response(value: Json) -> bool:
    """Return whether *value* is a response as clients are told of it."""
    return isinstance(value, dict) and value.get("object") == "response"


def _is_marked(data: bytes) -> bool:
    return any(mark in data for mark in _MARKS)
