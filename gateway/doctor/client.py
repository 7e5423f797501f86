"""Asks a gateway that runs, from a thread that nobody has to wait for."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Final
from urllib.parse import urlsplit

import anyio.to_thread

_MOST: Final = 64 * 2**20
_PIECE: Final = 65_536


class Unreached(Exception):
    """Nobody answers there; the message says why."""


@dataclass(frozen=True, slots=True)
class Page:
    """An answer. ``pieces`` are when each part of it came, in seconds since it was asked for."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    pieces: tuple[tuple[float, bytes], ...] = ()


async def fetch(url: str, path: str, token: str | None = None, within_s: float = 10.0) -> Page:
    """Return what the gateway at *url* answers at *path* to the bearer of *token*.

    Raises:
        Unreached: Nobody answers, or not in time.
    """
    ask = partial(_fetch, url.rstrip("/").removesuffix("/v1"), path, token, within_s)
    return await anyio.to_thread.run_sync(ask, abandon_on_cancel=True)


def _fetch(url: str, path: str, token: str | None, within_s: float) -> Page:
    try:
        connection, prefix = _connection(url, within_s)
        headers = {"accept": "*/*"} | ({"authorization": f"Bearer {token}"} if token else {})
        began = monotonic()
        try:
            connection.request("GET", prefix + path, headers=headers)
            answer = connection.getresponse()
            pieces: list[tuple[float, bytes]] = []
            size = 0
            while (piece := answer.read1(_PIECE)) and size < _MOST:
                pieces.append((monotonic() - began, piece))
                size += len(piece)
                if monotonic() - began > within_s:
                    raise Unreached(f"{url}{path} does not come to an end")
            names = {name.lower(): value for name, value in answer.getheaders()}
            body = b"".join(piece for _, piece in pieces)
            return Page(answer.status, names, body, tuple(pieces))
        finally:
            connection.close()
    except (OSError, http.client.HTTPException, ValueError) as error:
        why = str(error) or type(error).__name__
        raise Unreached(f"{url} does not answer: {why}") from error


def _connection(url: str, within_s: float) -> tuple[http.client.HTTPConnection, str]:
    at = urlsplit(url)
    if at.scheme == "https":
        context = ssl.create_default_context()
        made: http.client.HTTPConnection = http.client.HTTPSConnection(
            at.hostname or "", at.port, timeout=within_s, context=context
        )
        return made, at.path
    if at.scheme != "http":
        raise ValueError("its address must begin with http:// or https://")
    return http.client.HTTPConnection(at.hostname or "", at.port, timeout=within_s), at.path
