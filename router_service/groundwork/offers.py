"""Takes offers to upgrade a connection out of the heads of requests, however they are cut."""

from __future__ import annotations

import re
from typing import Final

_OFFER: Final = re.compile(rb"(?i)(?<=\n)upgrade(?=[ \t]*:)")
_FIRST: Final = re.compile(rb"(?i)upgrade(?=[ \t]*:)")
_NAME: Final = b"upgrade"
_REFUSED: Final = b"x-offer"
"""As long as the name itself: it may be a body in which that stands, and that has its length."""
_LONGEST: Final = 64


class Offers:
    """The offers on one connection."""

    __slots__ = ("_begins", "_held")

    def __init__(self) -> None:
        self._begins = False  # whether what comes next begins a line
        self._held = b""

    def passed_over(self, data: bytes, *, heading: bool) -> tuple[bytes, bytes]:
        """Return *data* with its offers renamed, and of it what may be the begin of one.

        *heading* tells whether it begins in a head. No body of a call is changed: a JSON text has
        no line that begins with a bare word; and the last line of it, often all, is not read.
        """
        begins = heading and self._begins
        if self._held:
            data, self._held, begins = self._held + data, b"", True
        last = data.rfind(b"\n") + 1
        upto = last + _LONGEST
        if data.find(b"pgrade", 0, upto) >= 0 or data.find(b"PGRADE", 0, upto) >= 0:
            data = _OFFER.sub(_REFUSED, data)
            if begins and _FIRST.match(data):
                data = _REFUSED + data[len(_NAME) :]
        size = len(data)
        self._begins = last == size
        if 0 < size - last < _LONGEST and (last or begins) and _may_be_one(data[last:]):
            return data[:last], data[last:]
        return data, b""

    def hold(self, later: bytes, *, heading: bool) -> bool:
        """Wait for the rest of what may be an offer; return whether that is due, in a head."""
        if heading:
            self._held = later
        return heading


def _may_be_one(begun: bytes) -> bool:
    return _NAME.startswith(begun.rstrip(b" \t").lower())
