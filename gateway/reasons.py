"""What a line of the log says of why something failed."""

from __future__ import annotations


def why_of(error: BaseException) -> str:
    """Return what *error* says, or what it is where it says nothing: no reason is empty."""
    said = str(error).strip() or str(error.__cause__ or "").strip()
    return said or type(error.__cause__ or error).__name__
