"""Cuts a text that comes in pieces into sentences and lines."""

from __future__ import annotations

import re
from typing import Final

_LOOK_BACK: Final = 8  # characters of the end of a sentence that may already have come

_END = re.compile(
    r"""[^\W\d][.!?]["')\]*_\u2019\u201d]{0,4}(?=\s)  # a word, not the number of a list or a year
      |[)\]"'\u2019\u201d*_%][.!?](?=\s)
      |[\u3002\uff01\uff1f]
      |(?=\n)""",
    re.VERBOSE,
)


class Passages:
    """The passages of one text: a sentence each, or a line.

    Where it is cut depends on the text alone, not on the pieces in which it comes.

    Attributes:
        rest: What came after the last whole passage.
    """

    def __init__(self) -> None:
        self.rest = ""

    def feed(self, piece: str) -> list[str]:
        """Take *piece* in and return the passages that it ends, the blanks before them included."""
        start = max(0, len(self.rest) - _LOOK_BACK)
        text = self.rest + piece
        found, cut = [], 0
        for end in _END.finditer(text, start):
            passage = text[cut : end.end()]
            if passage.strip():
                found.append(passage)
                cut = end.end()
        self.rest = text[cut:]
        return found

    def take_rest(self) -> str:
        """Return what came after the last whole passage, as one of its own."""
        rest, self.rest = self.rest, ""
        return rest
