"""Holds the beginning of a stream back until it has passed, and then lets the rest through."""

from __future__ import annotations

from collections.abc import Callable

from techniques.core.events import Event, Piece, TextDelta, ToolCallDelta, ToolCallStarted
from techniques.parts.guards import Guard
from techniques.parts.passages import Passages


class Window:
    """What of a stream may be seen.

    Nothing is let through before *hold* passages are whole and have passed *check*; then each
    passage as soon as it is whole. With no passage to hold, text goes through as it comes.

    Attributes:
        opened: Something was let through, and can no longer be replaced.
        broken: What the text broke first.
    """

    def __init__(self, check: Callable[[str], Guard | None], hold: int) -> None:
        self._check = check
        self._hold = hold
        self._passages = Passages()
        self._held: list[Event] = []
        self._whole = 0
        self.opened = False
        self.broken: Guard | None = None

    @property
    def failed(self) -> bool:
        """Whether the text is broken while it can still be replaced."""
        return self.broken is not None and not self.opened

    def take(self, event: Event) -> list[Event]:
        """Take *event* in and return what may be seen now. Tool calls never may."""
        match event:
            case TextDelta() if self._hold:
                self._cut(event.text)
            case TextDelta():
                self._held.append(event)
                self.opened = self.opened or bool(event.text.strip())
            case ToolCallStarted() | ToolCallDelta():
                self.broken = self.broken or "form"
            case _:
                self._pass_by(event)
        return self._seen() if self.opened else []

    def finish(self) -> None:
        """Look at what came after the last whole passage. It opens nothing."""
        if self._passages.rest:
            self._look(self._passages.take_rest())

    def rest(self) -> list[Event]:
        """Let everything through that was held back, and return it."""
        self.opened = True
        return self._seen()

    def _cut(self, text: str) -> None:
        for passage in self._passages.feed(text):
            self._look(passage)
            self._whole += 1
            self.opened = self.opened or (self.broken is None and self._whole >= self._hold)

    def _look(self, passage: str) -> None:
        self._held.append(TextDelta(passage))
        self.broken = self.broken or self._check(passage)

    def _pass_by(self, event: Event) -> None:
        if isinstance(event, Piece):  # the parts of an answer keep their order
            self.finish()
        self._held.append(event)

    def _seen(self) -> list[Event]:
        seen, self._held = self._held, []
        return seen
