"""Reads the images of a turn: base64, without a word of what they are."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from typing import Final

from gateway.wire.openai_chat.fields import Fields, items, wrong
from techniques.core.json import Json
from techniques.core.request import Image

_DATA: Final = re.compile(r"data:([^;,]*)(?:;[^;,]*)*;base64,(.*)", re.DOTALL)
_LETTERS: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_MAGIC: Final = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
)
_UNKNOWN: Final = "image/png"


def images_of(turn: Fields, at: str) -> tuple[Image, ...]:
    """Return the ``images`` of *turn*; *at* is the path before that name.

    Raises:
        RequestRejected: One is not base64.
    """
    return tuple(
        _image(one, f"{at}images[{place}]") for place, one in enumerate(items(turn, "images", at))
    )


def _image(value: Json, at: str) -> Image:
    if not isinstance(value, str):
        raise wrong(at, "an image in base64")
    told = _DATA.fullmatch(value) if value.startswith("data:") else None
    data = "".join((told[2] if told else value).split())
    if not _LETTERS.fullmatch(data):
        raise wrong(at, "an image in base64")
    return Image(data=data, media_type=(told[1] if told else "") or _kind(data, at))


def _kind(data: str, at: str) -> str:
    """Return what sort of image *data* is, by its first bytes."""
    try:
        first = b64decode(data[:16] + "=" * (-len(data[:16]) % 4))
    except Error:
        raise wrong(at, "an image in base64") from None
    if first[:4] == b"RIFF" and first[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _MAGIC if first.startswith(magic)), _UNKNOWN)
