"""What a text that was written from candidates must pass, all of it free and exact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from techniques.core.reply import Reply, replied
from techniques.core.request import Request
from techniques.parts.agree import clusters, total
from techniques.parts.answers import Expected
from techniques.parts.candidates import Candidate
from techniques.parts.checks import Checks
from techniques.parts.keys import TEXT, key_of
from techniques.parts.markers import boxed, marked
from techniques.parts.novelty import Known
from techniques.parts.refusals import refuses
from techniques.parts.transcript import answer_shown, transcript

Guard: TypeAlias = Literal["form", "key", "novelty", "length"]
"""What was broken.

``form``: it is no usable answer, or declines, or acts. ``key``: it concludes something else than
most candidates. ``novelty``: it has numbers, links, sources or names that nobody gave it.
``length``: it is much longer than any candidate.
"""

Strictness: TypeAlias = Literal["full", "cheap", "post", "off"]
"""How an answer that was written anew is guarded.

``full``: it is read to its end, must pass every guard, and a judge must prefer it to what there
was. ``cheap``: once its beginning has passed it is let through sentence by sentence. ``post``: it
is let through as it comes, and what it broke is told. ``off``: so too, and nobody looks.
"""

_LONGEST: Final = 1.6  # times the longest candidate
_LEAST: Final = 200  # characters that are never too long
_UNBOUNDED: Final = 10**9
_UNSTATED: Final = (TEXT, "code|")


class Guards:
    """The guards of one synthesis from *candidates* in answer to *request*."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        request: Request,
        checks: Checks,
        expected: Expected,
    ) -> None:
        shown = [answer_shown(one.reply, _UNBOUNDED) for one in candidates]
        self._known = Known((*shown, transcript(request, _UNBOUNDED)))
        self._most = max(_LEAST, _LONGEST * max(map(len, shown)))
        self._key = majority(candidates)
        self._checks = checks
        self._expected = expected
        self._length = 0

    def passage(self, text: str) -> Guard | None:
        """Return what the next passage of a synthesis breaks, told passage by passage in order."""
        if self._length == 0 and refuses(replied(text)):
            return "form"
        self._length += len(text)
        if self._length > self._most:
            return "length"
        if self._key is not None and (boxed(text) or marked(text)):
            key = key_of(replied(text), self._expected)
            if key != self._key:
                return "key"
        return "novelty" if self._known.beyond(text) else None

    def whole(self, reply: Reply) -> Guard | None:
        """Return what a finished synthesis breaks."""
        if self._checks.lost(reply) or reply.tool_calls or refuses(reply):
            return "form"
        if self._key is not None and key_of(reply, self._expected) != self._key:
            return "key"
        if len(reply.text) > self._most:
            return "length"
        return "novelty" if self._known.beyond(reply.text) else None


def majority(candidates: Sequence[Candidate]) -> str | None:
    """Return the key that has more than half of the weight, None if none has.

    A text that is only alike to its own words states nothing that another could state, too.
    """
    found = clusters(candidates)
    if not found or 2 * found[0].weight <= total(candidates):
        return None
    return None if found[0].key.startswith(_UNSTATED) else found[0].key
