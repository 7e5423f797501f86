"""How the body of a call may be packed. Source: RFC 9110, sections 8.4 and 12.5.3."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Final

ZSTD: Final = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
"""The module that unpacks zstd; it is loaded when the first body comes packed so."""


def _has(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even what it would be in
        return False


CODINGS: Final = ("gzip", "deflate", *(("zstd",) if _has(ZSTD) else ()))
