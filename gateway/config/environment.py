"""One variable of the environment, for what names it in a file of its own."""

from __future__ import annotations

import os


def variable(name: str) -> str | None:
    """Return what the environment has under *name*; an empty text is nothing."""
    return os.environ.get(name) or None
