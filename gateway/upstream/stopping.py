"""Ends an answer at a text at which its provider cannot be asked to stop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from gateway.upstream.provider import Reader
from techniques.core.events import Event, Finished, TextDelta, UsageReported, Warned

_BESIDE: Final = (UsageReported, Warned)
"""What is told of an answer and is no part of it."""


def stopping(reader: Reader, stops: Sequence[str]) -> Reader:
    """Return *reader* of an answer that ends at the first of the texts *stops*, which is left out.

    A stream is over then, and what its provider counts is not waited for.
    """
    texts = tuple(filter(None, stops))
    return _Stopping(reader, texts) if texts else reader


class _Stopping:
    """Holds text back as long as it may be the beginning of one of *stops*."""

    def __init__(self, reader: Reader, stops: Sequence[str]) -> None:
        self._reader = reader
        self._stops = stops
        self._held = ""
        self._met: str | None = None
        self._over = False

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Yield the events that *chunk* completes, up to the end."""
        if self._over:
            return
        for event in self._reader.feed(chunk):
            yield from self._take(event)
            if self._met is not None:
                self._over = True
                yield Finished("stop_sequence", self._met)
                return

    def end(self) -> Iterator[Event]:
        """Yield the events that are complete with the end."""
        if self._over:
            return
        for event in self._reader.end():
            if self._met is None:
                yield from self._take(event)
            elif isinstance(event, Finished):
                yield Finished("stop_sequence", self._met)
            elif isinstance(event, _BESIDE):
                yield event

    def _take(self, event: Event) -> Iterator[Event]:
        if isinstance(event, TextDelta):
            yield from self._text(event)
            return
        if self._held and not isinstance(event, _BESIDE):
            yield TextDelta(self._held)
            self._held = ""
        yield event

    def _text(self, event: TextDelta) -> Iterator[Event]:
        text = self._held + event.text
        found = [(place, stop) for stop in self._stops if (place := text.find(stop)) >= 0]
        if found:
            place, self._met = min(found)
            said, self._held = text[:place], ""
        else:
            kept = len(text) - self._begun(text)
            said, self._held = text[:kept], text[kept:]
        if said == event.text:
            yield event
        elif said:
            yield TextDelta(said)  # whose tokens are not those that came

    def _begun(self, text: str) -> int:
        """Return how many characters at the end of *text* may be the beginning of a stop."""
        most = min(len(text), max(map(len, self._stops)) - 1)
        ends = (n for n in range(most, 0, -1) if any(s.startswith(text[-n:]) for s in self._stops))
        return next(ends, 0)
