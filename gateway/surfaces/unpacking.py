"""Unpacks the body of a call, never to more than a body may have."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Final, Protocol, TypeAlias

from gateway.wire.codings import CODINGS, ZSTD
from techniques.core.errors import RequestRejected, TooLarge, UnknownCoding

_NAMED: Final = zlib.MAX_WBITS | 32  # zlib's or gzip's header, as it comes
_BARE: Final = -zlib.MAX_WBITS
_MOST_MEMBERS: Final = 16
"""Parts that a packed body may have: each is looked for in a copy of all that follows it."""
_LARGEST_WINDOW: Final = 23
"""Of zstd: the binary logarithm of what a frame may have looked up. Source: RFC 9659, section 3."""


class _Unpacking(Protocol):
    """Unpacks one part of a body; ``eof``: it was whole, and ``unused_data`` is what follows."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Return what *data* holds, *max_length* bytes at most."""
        ...


_Begin: TypeAlias = Callable[[], _Unpacking]


class _Broken(Exception):
    """It is not packed so."""


def coding_of(header: str) -> str | None:
    """Return how a body is packed by its ``content-encoding`` *header*, None if it is not.

    Raises:
        UnknownCoding: In another way than these, or in several.
    """
    named = [coding for part in header.lower().split(",") if (coding := part.strip())]
    codings = [coding.removeprefix("x-") for coding in named if coding != "identity"]
    if not codings:
        return None
    if len(codings) > 1 or codings[0] not in CODINGS:
        raise UnknownCoding(
            f"A body of the content-encoding {header[:64]!r} cannot be read: send it packed by "
            f"{', '.join(CODINGS[:-1])} or {CODINGS[-1]}, or as it is."
        )
    return codings[0]


def unpacked(packed: bytes, coding: str, most: int) -> bytes:
    """Return the body that *packed* holds in *coding*.

    Raises:
        TooLarge: It has more than *most* bytes; what is left of it is not unpacked.
        RequestRejected: It cannot be unpacked.
    """
    for begin, error in _ways(coding):
        try:
            return _unpacked(packed, begin, most)
        except (error, _Broken):
            continue
    raise RequestRejected(f"The body cannot be unpacked: it is no whole {coding}.")


def _ways(coding: str) -> list[tuple[_Begin, type[Exception]]]:
    """Return how what is called *coding* may be unpacked, and what each way fails with."""
    if coding == "zstd":
        zstd = import_module(ZSTD)
        bound = {zstd.DecompressionParameter.window_log_max: _LARGEST_WINDOW}
        return [(partial(zstd.ZstdDecompressor, options=bound), zstd.ZstdError)]
    forms = (_NAMED, _BARE) if coding == "deflate" else (_NAMED,)  # some take one for the other
    return [(partial(zlib.decompressobj, form), zlib.error) for form in forms]


def _unpacked(packed: bytes, begin: _Begin, most: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while packed:
        unpacking = begin()
        part = unpacking.decompress(packed, most - size + 1)
        size += len(part)
        if size > most:
            raise TooLarge(f"The body unpacks to more than {most} bytes.")
        parts.append(part)
        if not unpacking.eof or len(parts) > _MOST_MEMBERS:
            raise _Broken
        packed = unpacking.unused_data.lstrip(b"\0")  # gzip may be filled up with zeros
    return b"".join(parts)
