"""Whether a request comes from this machine: who asks for no key serves no other.

Such a server listens on a loopback address, which any web page in a browser of this machine can
reach: with a name of its own that was made to lead here (DNS rebinding), or as the origin of a
request.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit


def far(headers: Mapping[str, str]) -> tuple[str, str] | None:
    """Return which of *headers* names another host than this machine, and which; None: none."""
    host, origin = headers.get("host", ""), headers.get("origin")
    if not is_near(host):
        return "host", host
    if origin is not None and not is_near(_host_of(origin)):
        return "origin", origin
    return None


def is_near(host: str) -> bool:
    """Return whether *host*, as a client names it, is this machine's own; so is no name at all."""
    name, colon, port = host.rpartition(":")
    if not (colon and (port.isdecimal() or (name and not port))):  # it may be left out
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
