"""Whether a request comes from this machine: a gateway without keys serves no other.

It listens on a loopback address, which any web page in a browser of this machine can reach: with a
name of its own that was made to lead here (DNS rebinding), or as the origin of a request.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from techniques.core.errors import Denied

_FAR: Final = (
    "This gateway has no keys, so it serves this machine only, and the request's {} is {!r}. "
    "Ask it as http://127.0.0.1 or http://localhost, or make a key."
)


def must_be_near(headers: Mapping[str, str]) -> None:
    """Refuse who names another host than this machine, or comes from a page of another.

    Raises:
        Denied: It does.
    """
    host, origin = headers.get("host", ""), headers.get("origin")
    if not is_near(host):
        raise Denied(_FAR.format("host", host[:100]))
    if origin is not None and not is_near(_host_of(origin)):
        raise Denied(_FAR.format("origin", origin[:100]))


def is_near(host: str) -> bool:
    """Return whether *host*, as a client names it, is this machine's own; so is no name at all."""
    name, colon, port = host.rpartition(":")
    if not (colon and port.isdecimal()):
        name = host
    return not name or is_loopback(name)


def is_loopback(host: str) -> bool:
    """Return whether *host*, without a port, is an address that only this machine reaches."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _host_of(origin: str) -> str:
    """Return the host of *origin*, a name that is nobody's where it has none (``null``)."""
    try:
        return urlsplit(origin).netloc or "null"
    except ValueError:
        return "null"
