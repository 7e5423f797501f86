"""Cuts a text that comes in pieces into sentences and lines."""

from __future__ import annotations

import re
from typing import Final

_LOOK_BACK: Final = 24  # characters of the end of a passage that may already have come
_LONGEST: Final = 2000  # characters, after which a passage ends at a blank
_MOST_READ: Final = 100_000  # characters of a text, after which all of its passages are so long

_END = re.compile(
    r"""[^\W\d][.!?]["')\]*_\u2019\u201d]{0,4}(?=\s)  # a word, not the number of a list or a year
      |[)\]"'\u2019\u201d*_%][.!?](?=\s)
      |[\u3002\uff01\uff1f]
      |\S(?=[ \t]{0,16}\n)""",
    re.VERBOSE,
)


class Passages:
    """The passages of one text: a sentence each, or a line.

    Where it is cut depends on the text alone, not on the pieces in which it comes. What is far
    from the beginning is cut into long passages: to look for the ends of sentences takes too long.

    Attributes:
        rest: What came after the last whole passage.
    """

    def __init__(self) -> None:
        self.rest = ""
        self._left = _MOST_READ  # from the beginning of the rest on

    def feed(self, piece: str) -> list[str]:
        """Take *piece* in and return the passages that it ends, the blanks before them included."""
        start = max(0, len(self.rest) - _LOOK_BACK)
        text = self.rest + piece
        found: list[str] = []
        cut = 0
        for end in _END.finditer(text, start, max(0, self._left) + _LOOK_BACK):
            if end.end() > self._left:
                break
            cut = _cut(text, cut, end.end(), found)
            found.append(text[cut : end.end()])
            cut = end.end()
        if len(text) - cut > _LONGEST + _LOOK_BACK:  # no end before it can still show
            cut = _cut(text, cut, len(text) - _LOOK_BACK, found)
        self.rest = text[cut:]
        self._left -= cut
        return found

    def take_rest(self) -> str:
        """Return what came after the last whole passage, as one of its own."""
        rest, self.rest = self.rest, ""
        self._left -= len(rest)
        return rest


def _cut(text: str, start: int, end: int, found: list[str]) -> int:
    """Cut overlong passages off *text* from *start* on; return where the last, to *end*, begins."""
    while end - start > _LONGEST:
        blank = text.rfind(" ", start + 1, start + _LONGEST)
        stop = blank if blank > 0 else start + _LONGEST
        found.append(text[start:stop])
        start = stop
    return start
