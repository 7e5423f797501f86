"""The way to a provider's host: straight, or by a proxy that a network lets nothing past."""

from __future__ import annotations

import asyncio
import base64
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeAlias
from urllib.parse import unquote, urlsplit

from aiohappyeyeballs import start_connection

from gateway.upstream.addresses import Addresses, PrivateAddress, is_private, unreached
from techniques.core.errors import UpstreamFailed

_SECOND_TRY_S: Final = 0.25
_PROXY_PORT: Final = 3128
_MOST_HEAD: Final = 16 * 1024

Dial: TypeAlias = Callable[[], Awaitable[socket.socket]]
"""Connects to one host and returns what reaches it.

Raises:
    OSError: It cannot be reached, or must not be.
    UpstreamFailed: The proxy does not open the way to it.
"""


def straight(host: str, port: int, *, allow_private: bool) -> Dial:
    """Return what connects to *host* itself, by whichever of its addresses answers first."""
    addresses = Addresses(host, port, allow_private=allow_private)

    async def dial() -> socket.socket:
        found = await addresses.find()
        connected = await start_connection(found, happy_eyeballs_delay=_SECOND_TRY_S)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return connected

    return dial


def tunnelled(proxy: str, host: str, port: int, *, allow_private: bool) -> Dial:
    """Return what connects to *host* by CONNECT (RFC 9110, section 9.3.6) to *proxy*, a URL.

    The proxy looks up the name of the host: which address that has is for the proxy to judge.
    """
    url = urlsplit(proxy)
    to_proxy = straight(url.hostname or "", url.port or _PROXY_PORT, allow_private=True)
    asked = _asked(
        f"[{host}]:{port}" if ":" in host else f"{host}:{port}", url.username, url.password
    )

    async def dial() -> socket.socket:
        if not allow_private and is_private(host):
            raise PrivateAddress(f"{host} is a private address")
        try:
            connected = await to_proxy()
        except OSError as error:
            raise _failed(f"No connection to the proxy{unreached(error)}.") from error
        try:
            await _let_through(connected, asked)
        except BaseException:
            with suppress(OSError):
                connected.close()
            raise
        return connected

    return dial


def _asked(authority: str, user: str | None, password: str | None) -> bytes:
    lines = [f"CONNECT {authority} HTTP/1.1", f"host: {authority}"]
    if user is not None:
        pair = f"{unquote(user)}:{unquote(password or '')}".encode()
        lines.append(f"proxy-authorization: Basic {base64.b64encode(pair).decode()}")
    return "\r\n".join([*lines, "", ""]).encode()


async def _let_through(connected: socket.socket, asked: bytes) -> None:
    """Have the proxy at the other end of *connected* open the way, or raise."""
    loop = asyncio.get_running_loop()
    try:
        await loop.sock_sendall(connected, asked)
        head = b""
        while not head.endswith(b"\r\n\r\n"):  # nobody speaks through it before we do
            piece = await loop.sock_recv(connected, 4096)
            head += piece
            if not piece or len(head) > _MOST_HEAD:
                raise _failed("The proxy did not answer as one.")
    except OSError as error:
        raise _failed("The connection to the proxy broke.") from error
    version, _, rest = head.partition(b" ")
    status = rest[:3]
    if not version.startswith(b"HTTP/1.") or not status.isdigit():
        raise _failed("The proxy did not answer as one.")
    if status == b"407":
        raise _failed("The proxy wants a name and a password, or others (407).")
    if not status.startswith(b"2"):
        raise _failed(f"The proxy does not open the way to the provider ({status.decode()}).")


def _failed(message: str) -> UpstreamFailed:
    return UpstreamFailed(message, "transport", retryable=True)
