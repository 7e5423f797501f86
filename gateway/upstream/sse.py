"""Server-sent events, from bytes that may be cut anywhere. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pricing.record import record

_BOM = b"\xef\xbb\xbf"  # the standard has one at the beginning ignored
_END = re.compile(rb"\n\r?\n|\r(?:\n\r?\n|\r)")
_NAMED = re.compile(rb"event: ([^\r\n]*)\ndata: ([^\r\n]*)\n\n")  # as nearly all come
_LINE = re.compile(rb"\r\n|\n|\r")


@record(frozen=True, slots=True)
class SseEvent:
    """One event: its bytes as they came, blank line included, and what they say.

    ``data`` is None where the event has no data field (a comment, say) or an empty one.
    """

    raw: bytes
    name: str | None
    data: bytes | None


class SseReader:
    """Collects bytes and gives back each event that they complete.

    Lines end in LF, CRLF or CR, as the standard has it, and in nothing else: U+2028 or a form
    feed inside JSON is text.
    """

    def __init__(self) -> None:
        self._held = bytearray()
        self._seen = 0  # how far ``_held`` has been searched for an end
        self._begun = False

    @property
    def empty(self) -> bool:
        """Whether no event waits for its rest."""
        return not self._held

    def feed(self, chunk: bytes) -> Iterator[SseEvent]:
        """Yield every event that *chunk* completes."""
        if not self._begun:
            self._begun = len(self._held) + len(chunk) >= len(_BOM)
            if not self._begun:
                self._held += chunk
                return
            chunk = (bytes(self._held) + chunk).removeprefix(_BOM)
            self._held.clear()
        if not self._held and chunk.endswith(b"\n\n") and chunk.find(b"\r") == -1:
            for part in chunk.split(b"\n\n")[:-1]:
                yield parse(part + b"\n\n")
            return
        self._held += chunk
        start = 0
        while end := _END.search(self._held, max(start, self._seen - 3)):
            if end.end() == len(self._held) and self._held.endswith(b"\r"):
                break  # an LF may follow that belongs to this line end
            yield parse(bytes(self._held[start : end.end()]))
            start = self._seen = end.end()
        del self._held[:start]
        self._seen = len(self._held)

    def rest(self) -> bytes:
        """Return the bytes after the last complete event, and forget them."""
        held = bytes(self._held)
        self._held.clear()
        self._seen = 0
        return held


def parse(raw: bytes) -> SseEvent:
    """Return the event that *raw* is: its lines up to and with the blank one."""
    if raw.startswith(b"data: ") and raw.find(b"\n") == len(raw) - 2:
        return SseEvent(raw, None, raw[6:-2] or None)
    if found := _NAMED.fullmatch(raw):
        return SseEvent(raw, found[1].decode("utf-8", "replace"), found[2] or None)
    name: str | None = None
    data: list[bytes] = []
    for line in _LINE.split(raw):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode("utf-8", "replace")
    return SseEvent(raw, name, b"\n".join(data) or None)
