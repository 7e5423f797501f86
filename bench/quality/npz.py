"""Reads the arrays of an ``.npz`` file as lists: enough of the format for what is measured."""

from __future__ import annotations

import ast
import struct
import sys
import zipfile
from array import array
from pathlib import Path
from typing import Any, Final

_MAGIC: Final = b"\x93NUMPY"
_CODES: Final = {"|u1": "B", "<f4": "f", "<i4": "i", "<i8": "q", "<f8": "d"}


def read_npz(path: Path) -> dict[str, list[Any]]:
    """Return the arrays in *path* by name: tables as lists of rows, one-dimensional ones of text.

    Source: NEP 1 (numpy.lib.format), versions 1.0 and 2.0.

    Raises:
        ValueError: It holds something else.
    """
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        return {name.removesuffix(".npy"): _read(archive.read(name)) for name in names}


def _read(raw: bytes) -> list[Any]:
    if not raw.startswith(_MAGIC):
        raise ValueError("no array of numpy's")
    wide = raw[6] > 1
    (length,) = struct.unpack_from("<I" if wide else "<H", raw, 8)
    start = (12 if wide else 10) + length
    head = ast.literal_eval(raw[start - length : start].decode())
    kind, shape, body = head["descr"], head["shape"], raw[start:]
    if kind.startswith("<U") and len(shape) == 1:
        width = 4 * int(kind[2:])
        cells = (body[at : at + width] for at in range(0, len(body), width))
        return [cell.decode("utf-32-le").rstrip("\0") for cell in cells]
    if kind not in _CODES or len(shape) != 2:
        raise ValueError(f"an array of {kind} and shape {shape}")
    return _table(array(_CODES[kind], body), shape, by_column=head["fortran_order"])


def _table(values: array[float], shape: tuple[int, int], *, by_column: bool) -> list[list[float]]:
    if sys.byteorder == "big":
        values.byteswap()
    rows, columns = shape
    if by_column:
        return [list(values[row::rows]) for row in range(rows)]
    return [list(values[row * columns : (row + 1) * columns]) for row in range(rows)]
