"""From the bytes of a call to a JSON object, strictly."""

from __future__ import annotations

from typing import Final

from router_service.groundwork import body
from techniques.core.errors import RequestRejected
from techniques.core.json import JsonObject

MAX_DEPTH: Final = body.MAX_DEPTH


def parse(raw: bytes) -> JsonObject:
    """Return the object that *raw* spells.

    Raises:
        RequestRejected: It is no strict JSON object.
    """
    try:
        return body.parse(raw)
    except body.Unreadable as unreadable:
        raise RequestRejected(str(unreadable), param=unreadable.param) from None
