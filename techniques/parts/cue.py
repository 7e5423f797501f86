"""Asks for a marked final line, and takes it out again before anyone sees it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from pricing.record import record
from techniques.core.reply import Reply
from techniques.core.request import Message, Request, Text
from techniques.parts.answers import Expected
from techniques.parts.asked_lines import (
    BLANKS,
    COLONS,
    MARKUP,
    Found,
    after_words,
    asked_lines,
    bare,
)
from techniques.parts.keys import keyed, plain
from techniques.parts.markers import CUE_LABEL

_WANTED: Final = {
    "letter": "the letter of your choice",
    "number": "the number",
    "yes_no": "yes or no",
    "short": "the answer in a few words",
}
_CUE: Final = (
    "\n\nWhen you are done, end with one line of the form `{label} ...` that gives {wanted}."
)
_OTHERS: Final = 3  # lines that may stand after the one that was asked for
_LONGEST: Final = 200  # characters: where words begin and end is looked at in no longer value


@record(frozen=True, slots=True)
class LastLine:
    """The line that states the answer: asked for with ``asks``, or not at all if that is None."""

    asks: str | None = None

    def wanted(self, request: Request) -> Request:
        """Return *request* with the wish for the line."""
        return cued(request, self.asks) if self.asks else request

    def without(self, reply: Reply) -> Reply:
        """Return *reply* as the client is to see it."""
        return uncued(reply) if self.asks else reply


NO_LINE: Final = LastLine()
"""No such line is asked for."""


def cue(expected: Expected) -> str | None:
    """Return what to append to the question, None where a further line would be in the way."""
    if not expected.free or expected.kind == "tool" or not keyed(expected.text):
        return None
    return _CUE.format(label=CUE_LABEL, wanted=_WANTED[expected.text])


def cued(request: Request, text: str) -> Request:
    """Return *request* with *text* at the very end of its last user turn.

    At the end, so that whatever prefix a provider has cached stays as it was.
    """
    turns = list(request.messages)
    for place in reversed(range(len(turns))):
        if turns[place].role == "user":
            turns[place] = replace(turns[place], parts=(*turns[place].parts, Text(text)))
            return replace(request, messages=tuple(turns))
    return replace(request, messages=(*turns, Message("user", (Text(text.strip()),))))


def cue_line(text: str) -> int | None:
    """Return where the line that was asked for starts in *text*, None if there is none."""
    found = asked_lines(text, _stated, _OTHERS)
    return found.start if found else None


def uncued(reply: Reply) -> Reply:
    """Return *reply* without the line that was asked for.

    Where the text before it does not give the answer, the answer itself stays, unmarked.
    """
    places = [place for place, part in enumerate(reply.parts) if isinstance(part, Text)]
    if not places:
        return reply
    part = reply.parts[places[-1]]
    assert isinstance(part, Text)
    found = asked_lines(part.text, _stated, _OTHERS)
    if found is None:
        return reply
    parts = list(reply.parts)
    parts[places[-1]] = replace(part, text=_without(found))
    return replace(reply, parts=tuple(parts))


def _stated(line: str) -> str | None:
    """Return what *line* gives as the final answer, None if it is no such line."""
    start, marks = bare(line)
    rest = after_words(start, *CUE_LABEL[:-1].casefold().split())
    if rest is None:
        return None
    colon = rest.strip(BLANKS).lstrip(MARKUP)
    open_marks = "" if len(colon) < len(rest.strip(BLANKS)) else marks
    colon = colon.lstrip(BLANKS)
    return _value(colon[1:], open_marks) if colon[:1] in COLONS else None


def _value(text: str, marks: str) -> str:
    """Return the answer that *text* gives; the *marks* that are open are closed in it."""
    value = text.lstrip(MARKUP)
    if len(value) < len(text) and (marks or value[:1] in BLANKS):
        marks = ""
    else:
        value = text
    value = value.strip(BLANKS)
    end = len(value.rstrip(MARKUP))
    if not value[:end] or value[end - 1] in BLANKS:
        return value[:end].rstrip(BLANKS)
    value = value[: max(end, len(value) - len(marks))]
    for mark in ("**", "*", "`"):
        within = value[len(mark) : -len(mark)]
        if within and value == f"{mark}{within}{mark}" and mark not in within:
            return within
    return value


def _without(found: Found[str]) -> str:
    """Return the text around the line, and what it gives if nothing before it does."""
    given = plain(found.before)
    values = [value for value in dict.fromkeys(found.told) if value]
    told = "\n".join(value for value in values if not _gives(given, plain(value)))
    below = found.after if values or not _gives(given, plain(found.after)) else ""
    return "\n\n".join(text for text in (found.before, told, below) if text)


def _gives(text: str, wanted: str) -> bool:
    """Tell whether *wanted* stands in *text*, both in plain form, as whole words."""
    if not wanted or len(wanted) > _LONGEST:
        return bool(wanted) and wanted in text
    return bool(re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", text))
