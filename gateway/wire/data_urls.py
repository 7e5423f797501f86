"""Files that stand in a URL."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_DATA: Final = re.compile(r"data:([^;,]*)(?:;[^;,]*)*;base64,(.*)", re.DOTALL)


class Data(NamedTuple):
    """The base64 ``text`` of a file; ``media_type`` is "" if it is not said."""

    media_type: str
    text: str


def data_of(url: str) -> Data | None:
    """Return what stands in *url*, None if it is no URL with base64 in it."""
    found = _DATA.fullmatch(url)
    return None if found is None else Data(found[1], found[2])
