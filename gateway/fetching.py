"""Fetches the catalogue of prices that a configuration names, and keeps it on disk."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from gateway.clock import utc_now
from gateway.config.pricing import CatalogueConfig
from gateway.upstream.pool import Endpoint, PooledTransport
from gateway.upstream.provider import HttpCall
from gateway.upstream.transport import Response
from gateway.upstream.ways import STRAIGHT, Ways
from pricing.files import FileRecord, UnusablePrices, parsed, written
from pricing.formats.openrouter import PROVIDER
from techniques.core.errors import UpstreamFailed

_MOST: Final = 64 * 2**20
_WITHIN_S: Final = 20.0
_CONNECT_S: Final = 5.0
_OK: Final = 200


async def fetched(stated: CatalogueConfig | None, ways: Ways = STRAIGHT) -> str | None:
    """Have the catalogue that *stated* names on disk, not older than it may be.

    It is asked for by the way that *ways* have to it.

    Return why that could not be, None if all is well. It is never an error: prices that were kept
    go on to hold, and without any the tables do.
    """
    if stated is None or stated.url is None or _is_fresh(stated.cache, stated.keep):
        return None
    try:
        record = _record(await _got(stated.url, ways))
        _replace(stated.cache, written(record))
    except UpstreamFailed as error:
        return _told(stated, error.message)
    except (UnusablePrices, UnicodeDecodeError, OSError) as error:
        return _told(stated, str(error))
    return None


def _record(body: bytes) -> FileRecord:
    rows = tuple(parsed(body.decode(), PROVIDER).table.rows)
    if not rows:
        raise UnusablePrices("there is no priced model in it")
    return FileRecord(origin=PROVIDER, as_of=utc_now().date(), rows=rows)


def _told(stated: CatalogueConfig, why: str) -> str:
    host = urlsplit(stated.url or "").hostname
    kept = f"that of {stated.cache} goes on to hold" if stated.cache.exists() else "there is none"
    return f"pricing.catalogue: none could be had from {host}, and {kept}: {why}"


def _is_fresh(cache: Path, keep_s: float) -> bool:
    try:
        age_s = utc_now().timestamp() - cache.stat().st_mtime
    except OSError:
        return False
    return timedelta(0) <= timedelta(seconds=age_s) < timedelta(seconds=keep_s)


async def _got(address: str, ways: Ways) -> bytes:
    url = urlsplit(address)
    root = urlunsplit((url.scheme, url.netloc, "", "", ""))
    path = urlunsplit(("", "", url.path or "/", url.query, ""))
    by = Endpoint(root, {}, _CONNECT_S, allow_private=True, proxy=ways.to(address))
    transport = PooledTransport(by)
    try:
        call = HttpCall(path, b"", {}, method="GET")
        response = await transport.post(call, monotonic() + _WITHIN_S)
        try:
            body = await _whole(response)
        finally:
            response.close()
    finally:
        await transport.close()
    if response.status != _OK:
        raise UnusablePrices(f"HTTP {response.status}")
    return body


async def _whole(response: Response) -> bytes:
    body = bytearray()
    while chunk := await response.read():
        body += chunk
        if len(body) > _MOST:
            raise UnusablePrices("the answer has no end")
    return bytes(body)


def _replace(file: Path, text: str) -> None:
    """Write *text* to *file*, so that whoever reads it finds it whole."""
    beside = file.with_name(f"{file.name}.{os.getpid()}")
    beside.write_text(text, "utf-8")
    beside.replace(file)
