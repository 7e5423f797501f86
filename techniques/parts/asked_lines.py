"""Finds the lines that were asked for at the end of an answer, whatever a model makes of them.

All of it by steps and not by patterns: a model may write any number of anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

Told = TypeVar("Told")

BLANKS: Final = " \t\r\n\u00a0\u202f\u200b\ufeff"
MARKUP: Final = "*_`"
COLONS: Final = (":", "\uff1a")
_SIGNS: Final = BLANKS + ">*_#`-\u2022\u25cf\u00b7\u2013\u2014"  # of quotations, headings and items
_AROUND: Final = {"(": ")", "[": "]", '"': '"', "'": "'", "\u201c": "\u201d", "\u00ab": "\u00bb"}
_FENCES: Final = ("```", "~~~")
_LONGEST_NUMBER: Final = 3  # digits of the number of an item
_MOST: Final = 4  # such lines: a model may say it twice


@dataclass(frozen=True, slots=True)
class Found(Generic[Told]):
    """The lines that were asked for, and the text without them.

    Attributes:
        told: What each of the lines gives, in order.
        start: Where the first of them starts.
        before: The text ahead of the first.
        after: All other text after its start.
    """

    told: Sequence[Told]
    start: int
    before: str
    after: str


def asked_lines(text: str, read: Callable[[str], Told | None], others: int) -> Found[Told] | None:
    """Return the lines at the end of *text* that *read* can read, None if there are none.

    At most so many *others* may stand after, or between them. A line that stands in a fence with
    anything else is part of a program and not looked at.
    """
    lines = text.rstrip().splitlines(keepends=True)
    told: list[Told] = []
    after: list[str] = []  # the last line first
    first, kept, fenced = len(lines), 0, False
    for place in range(len(lines) - 1, -1, -1):
        line = lines[place]
        value = None if fenced or line.isspace() else read(line)
        if value is not None:
            told.append(value)
            first, kept = place, len(after)
        else:
            after.append(line)
            others -= bool(line.strip())
            fenced ^= line.lstrip().startswith(_FENCES)
        if others < 0 or len(told) == _MOST:
            break
    if not told:
        return None
    before = "".join(lines[:first])
    rest = "".join(reversed(after[:kept]))
    return Found(told[::-1], len(before), before.rstrip(), rest.strip())


def bare(line: str) -> tuple[str, str]:
    """Return *line* without what sets it off, and the marks directly ahead of it.

    Gone are the signs of an item or a quotation, its number, and what it stands within.
    """
    rest = line.strip(BLANKS)
    start = rest.lstrip(_SIGNS)
    digits = start[:_LONGEST_NUMBER].rstrip(".) ")
    if digits.isdecimal() and start[len(digits) :][:1] in {".", ")"}:
        start = start[len(digits) + 1 :].lstrip(_SIGNS)
    ahead = rest[: len(rest) - len(start)]
    marks = ahead[len(ahead.rstrip(MARKUP)) :]
    closing = _AROUND.get(start[:1])
    if closing:
        end = start[1:].rstrip(f".{MARKUP}") if marks else start[1:].rstrip(".")
        start = (end[:-1] if end.endswith(closing) else start[1:]).lstrip(_SIGNS)
    return start, marks


def after_words(text: str, *words: str) -> str | None:
    """Return what of *text* follows *words*, in any case and with any blanks; None if others do."""
    for word in words:
        text = text.lstrip(BLANKS)
        if text[: len(word)].casefold() != word:
            return None
        text = text[len(word) :]
    return text
