"""An answer that is not streamed: all of its body has to be there before any of it is read."""

from __future__ import annotations

from collections.abc import Iterator

from techniques.core.events import Event


class Whole:
    """Keeps the body of one answer; what it says is read from it at its ``end``."""

    def __init__(self) -> None:
        self._kept = bytearray()

    @property
    def body(self) -> bytes:
        """What has come of it."""
        return bytes(self._kept)

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Keep *chunk*: nothing can be read before the end."""
        self._kept += chunk
        return iter(())
