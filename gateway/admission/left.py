"""What is left of the windows that a call was let through by, as its caller may be told. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gateway.admission.names import dimension_of


class Left(NamedTuple):
    """A window of a rate after a grant: its size, what is left, and in how many ms it is full."""

    name: str
    cap: int
    left: int
    full_ms: int

    @property
    def dimension(self) -> str:
        """What it counts."""
        return dimension_of(self.name)


def tightest(windows: Iterable[Left]) -> dict[str, Left]:
    """Return for each dimension the window of which the smallest part is left."""
    found: dict[str, Left] = {}
    for window in windows:
        what = dimension_of(window.name)
        known = found.get(what)
        if known is None or window.left * known.cap < known.left * window.cap:
            found[what] = window
    return found
