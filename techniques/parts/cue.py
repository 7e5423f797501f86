"""Asks for a marked final line, and takes it out again before anyone sees it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from techniques.core.reply import Reply
from techniques.core.request import Message, Request, Text
from techniques.parts.answers import Expected
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
_MARKUP: Final = "*_`"
_LEAD: Final = " \t>*_#`-"


@dataclass(frozen=True, slots=True)
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
    line = text.rstrip().rpartition("\n")[2]
    return None if _stated(line) is None else len(text.rstrip()) - len(line)


def uncued(reply: Reply) -> Reply:
    """Return *reply* without the line that was asked for.

    Where the text before it does not give the answer, the answer itself stays, unmarked.
    """
    places = [place for place, part in enumerate(reply.parts) if isinstance(part, Text)]
    if not places:
        return reply
    part = reply.parts[places[-1]]
    assert isinstance(part, Text)
    line = part.text.rstrip().rpartition("\n")[2]
    value = _stated(line)
    if value is None:
        return reply
    before = part.text.rstrip().removesuffix(line).rstrip()
    parts = list(reply.parts)
    parts[places[-1]] = replace(part, text=_without(before, value))
    return replace(reply, parts=tuple(parts))


def _stated(line: str) -> str | None:
    """Return what *line* gives as the final answer, None if it is no such line.

    By steps and not by one pattern: a model may write any number of blanks.
    """
    label = CUE_LABEL[:-1]
    bare = line.lstrip(_LEAD)
    if bare[: len(label)].casefold() != label.casefold():
        return None
    rest = bare[len(label) :].lstrip(_MARKUP)
    if not rest.startswith(":"):
        return None
    return rest[1:].lstrip(_MARKUP).strip(" \t").rstrip(f" \t{_MARKUP}")


def _without(before: str, value: str) -> str:
    if not before:
        return value
    wanted = plain(value)
    given = wanted and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", plain(before))
    return before if given or not value else f"{before}\n\n{value}"
