"""Vectors as JSON has them, and as base64 of 32-bit floats."""

from __future__ import annotations

import sys
from array import array
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

import orjson

Form: TypeAlias = Literal["float", "base64"]
Change: TypeAlias = Callable[[bytes], bytes]

_LIST: Final = b"["
_TEXT: Final = b'"'
_NO_NUMBER: Final = (b"N", b"n", b"u", b"l", b'"', b"{")
"""What is in all that JSON has but numbers and lists of them, and in no number."""
_SWAPS: Final = sys.byteorder == "big"


def change_to(form: Form) -> Change:
    """Return what writes a vector, as JSON, in *form*; what is in it, or is none, stays."""
    return _packed if form == "base64" else _to_floats


def is_finite(text: bytes, start: int, end: int) -> bool:
    """Return whether what of a list stands there are numbers: no NaN, null, text or object."""
    return all(text.find(mark, start, end) < 0 for mark in _NO_NUMBER)


def is_form(vector: bytes, form: Form) -> bool:
    """Return whether *vector*, that was changed to *form*, is in it, with finite numbers."""
    if form == "base64":
        return vector[:1] == _TEXT
    return vector[:1] == _LIST and is_finite(vector, 0, len(vector))


def _packed(vector: bytes) -> bytes:
    if vector[:1] != _LIST:
        return vector
    try:
        floats = array("f", orjson.loads(vector))
    except (ValueError, TypeError, OverflowError):
        return vector
    return _TEXT + b64encode(_little(floats).tobytes()) + _TEXT


def _to_floats(vector: bytes) -> bytes:
    if vector[:1] != _TEXT:
        return vector
    floats = array("f")
    try:
        floats.frombytes(b64decode(orjson.loads(vector), validate=True))
    except (ValueError, Error):
        return vector
    return orjson.dumps(_little(floats).tolist())


def _little(floats: array[float]) -> array[float]:
    if _SWAPS:
        floats.byteswap()
    return floats
