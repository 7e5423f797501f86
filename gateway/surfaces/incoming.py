"""What every surface reads of a request: headers, and a body of bounded size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.types import Receive, Scope

from gateway.surfaces.unpacking import coding_of, unpacked
from gateway.wire.respond import Gone, Leaving
from router_service.groundwork.response import LEAVING
from techniques.core.errors import TooLarge

_LONGEST: Final = 20
"""Digits of the size of a body."""


def headers_of(scope: Scope) -> dict[str, str]:
    """Return the headers, names in lower case; of a name that stands twice the last counts."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def leaving_of(scope: Scope) -> Leaving | None:
    """Return what has the server tell a callback of the client's leaving, if it does."""
    extensions = scope.get("extensions")
    return extensions.get(LEAVING) if extensions else None


async def body_of(receive: Receive, headers: Mapping[str, str], most: int) -> bytes:
    """Return the body, unpacked if it came packed.

    Raises:
        TooLarge: It has more than *most* bytes; what is left of it is not read.
        UnknownCoding: It is packed in a way that is not known here.
        RequestRejected: It cannot be unpacked.
        Gone: The client left.
    """
    declared = headers.get("content-length", "").lstrip("0")
    if declared.isdecimal() and (len(declared) > _LONGEST or int(declared) > most):
        raise TooLarge(f"The body has {declared} bytes; at most {most} are taken.")
    packed_as = headers.get("content-encoding")
    coding = coding_of(packed_as) if packed_as else None
    body = await _read(receive, most)
    return body if coding is None else unpacked(body, coding, most)


async def _read(receive: Receive, most: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone("The client left.")
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > most:
            raise TooLarge(f"The body has more than {most} bytes.")
        parts.append(part)
        if not message.get("more_body"):
            return part if len(parts) == 1 else b"".join(parts)
