"""From the name of a provider's host to its addresses, and which of them may be called."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import ssl
from time import monotonic
from typing import Any, Final, TypeAlias

_KEPT_S: Final = 60.0

Address: TypeAlias = tuple[Any, ...]
"""One of what ``getaddrinfo`` returns."""


class PrivateAddress(OSError):
    """A host name of the configuration leads to a private address, and must not."""


class Addresses:
    """The addresses of one host, looked up at most once a minute."""

    def __init__(self, host: str, port: int, *, allow_private: bool) -> None:
        self._host = host
        self._port = port
        self._allow_private = allow_private
        self._found: list[Address] = []
        self._until = 0.0

    async def find(self) -> list[Address]:
        """Return the addresses, the preferred one first.

        Raises:
            PrivateAddress: One of them is private, and this is not allowed.
            OSError: The name is not known.
        """
        if monotonic() < self._until:
            return self._found
        try:
            found: list[Address] = await asyncio.get_running_loop().getaddrinfo(
                self._host, self._port, type=socket.SOCK_STREAM
            )
        except UnicodeError as error:  # no host can be called so
            raise socket.gaierror(socket.EAI_NONAME, "no name of a host") from error
        if not self._allow_private and any(is_private(address[4][0]) for address in found):
            raise PrivateAddress(f"{self._host} has a private address")
        self._found, self._until = found, monotonic() + _KEPT_S
        return found


def unreached(error: OSError) -> str:
    """Return why there is no connection, to be put behind a sentence; it names no address."""
    match error:
        case PrivateAddress():
            return ": it has a private address, and no `allow_private: true`"
        case socket.gaierror():
            return ": its name is not known"
        case ssl.SSLError():
            return ": it does not speak TLS as it should"
        case ConnectionRefusedError():
            return ": nobody listens at its address"
        case _:
            words = os.strerror(error.errno) if error.errno else ""
            return f": {words[:1].lower()}{words[1:]}" if words else ""


def is_private(host: str) -> bool:
    """Return whether *host* is an IP address outside the public ranges; names are not."""
    try:
        return not ipaddress.ip_address(host.strip("[]")).is_global
    except ValueError:
        return False
