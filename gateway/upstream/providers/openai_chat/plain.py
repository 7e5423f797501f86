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
_KEY: Final = b'"content":"'
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
            text = data[len(before) : -len(after)]
            if _LETTERS.fullmatch(text):
                return len(text)
        return self._read(data)

    def _read(self, data: bytes) -> int:
        if not data.endswith(b"\n\n"):
            return -1
        if data.find(b"\n\n") == len(data) - 2:
            return self._read_one(data)
        characters = 0
        for event in data[:-2].split(b"\n\n"):
            said = _said(event)
            if said < 0:
                return -1
            characters += said
        return characters

    def _read_one(self, event: bytes) -> int:
        characters = _said(event)
        if characters > 0 and self._tries:
            self._tries -= 1
            self._learn(event, characters)
        return characters

    def _learn(self, event: bytes, characters: int) -> None:
        """Keep what stands around the text of the plain *event*.

        The text is where the event's only ``content`` is. It is all that is said, and made of
        letters that stand for themselves: others of their kind in its place leave the rest as it is.
        """
        start = event.find(_KEY) + len(_KEY)
        end = start + characters
        if event.count(b'"content"') != 1 or start < len(_KEY):
            return
        if event[end : end + 1] == b'"' and _LETTERS.fullmatch(event, start, end):
            self._before, self._after = event[:start], event[end:]


def _said(event: bytes) -> int:
    if not event.startswith(b"data: "):
        return -1
    try:
        return plain(orjson.loads(event[6:]))
    except ValueError:
        return -1


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
