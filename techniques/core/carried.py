"""Carries in a tool call's id what its host hung on it, through clients that keep nothing else.

Google's hosts give a call the signature of the thinking before it, and refuse the next turn of a
tool loop whose call comes back without. Most APIs have no field for it, but every client sends the
id of a call back, with the call and with its result. Only such clients see an id like that: inside
the gateway, and before any provider, the id is what the provider gave.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Final
from zlib import crc32

import orjson

from techniques.core.json import NOTHING, Json

FIELDS: Final = frozenset({"extra_content"})
"""The fields of a chat completion's tool call that its host must get back."""
MARK: Final = "__lgc_"
"""What stands between a call's own id and what it carries, which begins with a check sum."""
LARGEST: Final = 32_768
"""The most bytes that are carried. Google's signatures have some hundred to several thousand."""

_SUM: Final = 4
_PACKED: Final = re.compile("[A-Za-z0-9_-]+")


def carrying(own: str, extra: Mapping[str, Json]) -> str:
    """Return the id *own* with what of a call's *extra* its host must get back; bounded."""
    kept = {name: value for name, value in extra.items() if name in FIELDS and value is not None}
    if not kept or MARK in own:
        return own
    told = orjson.dumps(kept)
    if len(told) > LARGEST:
        return own
    packed = urlsafe_b64encode(_sum(own, told) + told).decode().rstrip("=")
    return f"{own}{MARK}{packed}"


def parted(call_id: str) -> tuple[str, Mapping[str, Json]]:
    """Return a call's own id and what *call_id* carries; itself and nothing, if it carries none."""
    own, _, packed = call_id.partition(MARK)
    if not _PACKED.fullmatch(packed):
        return call_id, NOTHING
    try:
        read = urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
        told = read[_SUM:]
        kept: Json = orjson.loads(told) if read[:_SUM] == _sum(own, told) else None
    except ValueError:
        kept = None
    if not isinstance(kept, dict) or not kept.keys() <= FIELDS:
        return call_id, NOTHING
    return own, kept


def _sum(own: str, told: bytes) -> bytes:
    return crc32(told, crc32(own.encode("utf-8", "surrogatepass"))).to_bytes(_SUM, "big")
