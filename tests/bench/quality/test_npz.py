from __future__ import annotations

import struct
import zipfile
from pathlib import Path

import pytest

from bench.quality.npz import read_npz


def array(head: str, body: bytes) -> bytes:
    padded = head.ljust(64 - 10 - 1) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded.encode() + body


def packed(folder: Path, **arrays: bytes) -> Path:
    path = folder / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name, raw in arrays.items():
            archive.writestr(f"{name}.npy", raw)
    return path


def test_tables_and_texts_are_read(tmp_path: Path) -> None:
    rows = array(
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3)}", struct.pack("<6i", *range(6))
    )
    columns = array("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}", bytes(range(6)))
    names = array(
        "{'descr': '<U3', 'fortran_order': False, 'shape': (2,)}",
        "a\0\0".encode("utf-32-le") + "böc".encode("utf-32-le"),
    )

    found = read_npz(packed(tmp_path, rows=rows, columns=columns, names=names))

    assert found["rows"] == [[0, 1, 2], [3, 4, 5]]
    assert found["columns"] == [[0, 2, 4], [1, 3, 5]]
    assert found["names"] == ["a", "böc"]


@pytest.mark.parametrize(
    "raw",
    [b"PK", array("{'descr': '<c8', 'fortran_order': False, 'shape': (1, 1)}", bytes(8))],
)
def test_what_is_no_such_array_is_refused(tmp_path: Path, raw: bytes) -> None:
    with pytest.raises(ValueError, match="array"):
        read_npz(packed(tmp_path, x=raw))
