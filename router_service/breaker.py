"""When somebody who does not answer is asked again. Pure: instants are given."""

from __future__ import annotations

from typing import Final

_MOST: Final = 5
_FIRST_S: Final = 1.0
_LONGEST_S: Final = 30.0


class Breaker:
    """Opens after *most* failures in a row, and then lets one through at a time, ever later.

    Who was let through says how it ended, by ``succeeded``, ``failed`` or ``left``.
    """

    def __init__(
        self, most: int = _MOST, first_s: float = _FIRST_S, longest_s: float = _LONGEST_S
    ) -> None:
        self._most = most
        self._first_s = first_s
        self._longest_s = longest_s
        self._failures = 0
        self._pause_s = first_s
        self._until = 0.0
        self._probing = False

    @property
    def is_open(self) -> bool:
        """Whether it has opened, and nobody has got through since."""
        return self._failures >= self._most

    def lets_through(self, now: float) -> bool:
        """Return whether somebody may ask at *now*."""
        if not self.is_open:
            return True
        if self._probing or now < self._until:
            return False
        self._probing = True
        return True

    def succeeded(self) -> None:
        """Close: somebody got an answer."""
        self._failures, self._pause_s, self._probing = 0, self._first_s, False

    def failed(self, now: float) -> None:
        """Count somebody who got none; who asked before it opened keeps it open no longer."""
        if self.is_open and not self._probing:
            return
        self._failures += 1
        if self.is_open:
            self._until = now + self._pause_s
            self._pause_s = min(2 * self._pause_s, self._longest_s)
        self._probing = False

    def left(self) -> None:
        """Forget somebody who did not wait for an answer."""
        self._probing = False
