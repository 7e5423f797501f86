"""Numbers that clients write into addresses."""

from __future__ import annotations


def whole(text: str, least: int, most: int) -> int | None:
    """Return the number that *text* is, None if it is none from *least* to *most*.

    Digits beyond those of *most* are no number either: they cost time, and Python's patience ends.
    """
    if not (text.isascii() and text.isdecimal()) or len(text) > len(str(most)):
        return None
    number = int(text)
    return number if least <= number <= most else None
