"""Unpacks the body of a call, never to more than a body may have."""

from __future__ import annotations

import zlib
from typing import Final

from gateway.wire.advice import CODINGS
from techniques.core.errors import RequestRejected, TooLarge, UnknownCoding

_NAMED: Final = zlib.MAX_WBITS | 32  # zlib's or gzip's header, as it comes
_BARE: Final = -zlib.MAX_WBITS
_MOST_MEMBERS: Final = 16
"""Parts that a gzipped body may have: each is looked for in a copy of all that follows it."""


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
            f"{' or '.join(CODINGS)}, or as it is."
        )
    return codings[0]


def unpacked(packed: bytes, coding: str, most: int) -> bytes:
    """Return the body that *packed* holds in *coding*.

    Raises:
        TooLarge: It has more than *most* bytes; what is left of it is not unpacked.
        RequestRejected: It cannot be unpacked.
    """
    try:
        return _unpacked(packed, _NAMED, most)
    except zlib.error:
        if coding != "deflate":
            raise _broken(coding) from None
    try:  # which some take for what stands inside zlib's form
        return _unpacked(packed, _BARE, most)
    except zlib.error:
        raise _broken(coding) from None


def _unpacked(packed: bytes, form: int, most: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while packed:
        unpacking = zlib.decompressobj(form)
        part = unpacking.decompress(packed, most - size + 1)
        size += len(part)
        if size > most:
            raise TooLarge(f"The body unpacks to more than {most} bytes.")
        parts.append(part)
        if not unpacking.eof or len(parts) > _MOST_MEMBERS:
            raise zlib.error
        packed = unpacking.unused_data.lstrip(b"\0")  # gzip may be filled up with zeros
    return b"".join(parts)


def _broken(coding: str) -> RequestRejected:
    return RequestRejected(f"The body cannot be unpacked: it is no whole {coding}.")
