"""Takes reasoning out of text in which a model marked it with tags."""

from __future__ import annotations

from collections.abc import Iterator

from techniques.core.events import TextDelta, ThinkingDelta

_TAGS = ("<think>", "</think>")


class ThinkSplitter:
    """Tells the text between ``<think>`` and ``</think>`` from the text around it.

    What might be the beginning of a tag is kept until more text tells, so that the parts do not
    depend on where the text was cut.
    """

    def __init__(self) -> None:
        self._held = ""
        self.inside = False

    def feed(self, text: str) -> Iterator[TextDelta | ThinkingDelta]:
        """Yield what *text* completes."""
        self._held += text
        while True:
            before, tag, after = self._held.partition(_TAGS[self.inside])
            if not tag:
                break
            yield from self._piece(before)
            self.inside = not self.inside
            self._held = after
        sure = len(self._held) - _overlap(self._held, _TAGS[self.inside])
        piece, self._held = self._held[:sure], self._held[sure:]
        yield from self._piece(piece)

    def close(self) -> Iterator[TextDelta | ThinkingDelta]:
        """Yield what was kept: it was no tag."""
        piece, self._held = self._held, ""
        yield from self._piece(piece)

    def _piece(self, text: str) -> Iterator[TextDelta | ThinkingDelta]:
        if text:
            yield ThinkingDelta(text) if self.inside else TextDelta(text)


def _overlap(text: str, tag: str) -> int:
    """Return how many of the last characters of *text* begin *tag*."""
    for length in range(min(len(text), len(tag) - 1), 0, -1):
        if text.endswith(tag[:length]):
            return length
    return 0
