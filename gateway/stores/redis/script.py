"""The one script that carries out every operation where the windows are."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import Final

_PARTS: Final = ("windows", "leases", "queue", "operations")


@cache
def source() -> str:
    """Return the script's text."""
    folder = files(__package__)
    return "\n".join((folder / f"{part}.lua").read_text("utf-8") for part in _PARTS)


@cache
def digest() -> str:
    """Return the name by which a server knows the script that it has loaded."""
    return hashlib.sha1(source().encode(), usedforsecurity=False).hexdigest()
