"""Tells chunks that only say a little more from all that must be looked at closely.

Nearly every chunk of a stream is of this kind and differs from the one before in its text alone,
so most are known by the bytes around it, without reading their JSON.
"""

from __future__ import annotations

import re
from typing import Final

import orjson

from techniques.core.json import Json

_CALLING: Final = frozenset({"tool_calls", "function_call"})
_LETTERS: Final = re.compile(rb"[ !#-\[\]-~]*")  # what stands in JSON text as itself
_DATA: Final = b"data: "
_OBJECT: Final = _DATA + b"{"
_NAME: Final = b'"content"'
_KEY: Final = _NAME + b':"'
_TRIES: Final = 4


class PlainChunks:
    """Recognises plain chunks of one stream."""

    def __init__(self) -> None:
        self._before = b""
        self._after = b""
        self._tries = _TRIES  # some hosts put something new into every chunk

    def said(self, data: bytes) -> int:
        """Return the characters said in *data*, -1 unless it is whole and plain events only."""
        before, after = self._before, self._after
        if before and data.startswith(before) and data.endswith(after):
            end = len(data) - len(after)
            if end >= len(before) and _LETTERS.fullmatch(data, len(before), end):
                return end - len(before)
        return self._read(data)

    def _read(self, data: bytes) -> int:
        if not data.endswith(b"\n\n"):
            return -1
        characters = 0
        for event in data[:-2].split(b"\n\n"):
            said = self._read_one(event)
            if said < 0:
                return -1
            characters += said
        return characters

    def _read_one(self, event: bytes) -> int:
        if not event.startswith(_OBJECT):
            return -1
        try:
            chunk = orjson.loads(event[len(_DATA) :])
        except ValueError:
            return -1
        characters = plain(chunk)
        if characters > 0 and self._tries:
            self._tries -= 1
            self._learn(event, chunk["choices"][0]["delta"].get("content"), characters)
        return characters

    def _learn(self, event: bytes, content: Json, characters: int) -> None:
        """Keep what stands around the text of the plain *event*, if that is its *content* alone.

        Where the event has the name ``content`` once, and letters that stand for themselves after
        it, other such letters in their place leave all the rest as it is.
        """
        start = event.find(_KEY) + len(_KEY)
        end = start + characters
        if type(content) is not str or len(content) != characters or start < len(_KEY):
            return
        if event.count(_NAME) == 1 and _LETTERS.fullmatch(event, start, end):
            self._before, self._after = event[:start], event[end:] + b"\n\n"


def plain(chunk: Json) -> int:
    """Return the characters said in *chunk*, -1 unless it is regular and says nothing else."""
    if type(chunk) is not dict or "error" in chunk or chunk.get("usage") is not None:
        return -1
    choices = chunk.get("choices")
    if type(choices) is not list or len(choices) != 1 or type(choices[0]) is not dict:
        return -1
    choice = choices[0]
    delta = choice.get("delta")
    ended = choice.get("finish_reason") is not None
    if ended or type(delta) is not dict or type(choice.get("index")) is not int:
        return -1
    characters = 0
    for name, value in delta.items():
        if type(value) is str:
            characters += len(value) if name != "role" else 0
        elif value is not None and name in _CALLING:
            return -1
    return characters
