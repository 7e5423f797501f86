"""Sources that a model names for what it says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pricing.record import record
from techniques.core.request import Opaque


@record(frozen=True, slots=True)
class Citation:
    """A source of what stands from character ``start`` to ``end`` of an answer's text.

    The characters are counted over all text of the answer. ``url`` is empty of what has none,
    ``quote`` are the source's own words. ``own`` is the citation as its dialect has it.
    """

    url: str
    title: str = ""
    start: int = 0
    end: int = 0
    quote: str = ""
    own: Opaque | None = None

    def moved(self, characters: int) -> Citation:
        """Return it for a text in which what it is of stands so many *characters* further on."""
        return replace(self, start=self.start + characters, end=self.end + characters)


def fitted(citations: Iterable[Citation], length: int) -> tuple[Citation, ...]:
    """Return *citations* in the order of their ends, none beyond a text of that *length*."""
    kept = (
        replace(one, start=min(one.start, length), end=min(one.end, length)) for one in citations
    )
    return tuple(sorted(kept, key=lambda one: one.end))


def within(citations: Iterable[Citation], start: int, end: int) -> tuple[Citation, ...]:
    """Return those of *citations* that end in the characters after *start*, up to *end*.

    What is of no text at all goes with what begins an answer.
    """
    return tuple(one for one in citations if start < one.end <= end or start == one.end == 0)


def passages(
    text: str, citations: Sequence[Citation], start: int = 0
) -> Iterator[tuple[str, tuple[Citation, ...]]]:
    """Yield *text*, which begins at *start* of an answer's, in pieces, each with its sources.

    A piece ends where one of the *citations* ends, and begins where it begins, if it can.
    """
    places = {one.start - start for one in citations} | {one.end - start for one in citations}
    before = 0
    for place in sorted(places | {len(text)}):
        if before < place <= len(text):
            yield text[before:place], within(citations, start + before, start + place)
            before = place
