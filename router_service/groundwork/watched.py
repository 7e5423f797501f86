"""Tells in the log when what a process is made of ends by itself."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeVar

import structlog

PartsT = TypeVar("PartsT")

_log = structlog.get_logger()


@asynccontextmanager
async def watched(opened: AbstractAsyncContextManager[PartsT]) -> AsyncGenerator[PartsT, None]:
    """Open *opened*; an error that ends it once it is open is told, and goes on to who opened it.

    One at the start is told by who started it.
    """
    began = False
    try:
        async with opened as parts:
            began = True
            yield parts
    except Exception:
        if began:
            _log.exception("service.died")
        raise
