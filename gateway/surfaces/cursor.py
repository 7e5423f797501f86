"""The place in a list of runs at which its next page begins, as clients carry it about."""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64encode
from typing import Final

import orjson
from starlette.requests import Request

from gateway.stores.journal.journal import Place, place_of
from gateway.stores.journal.records import Stored
from techniques.core.errors import RequestRejected

_LONGEST: Final = 4096
_LATEST_MS: Final = 10**14


def cursor_of(last: Stored) -> str:
    """Return the cursor of the page after that which ends with *last*."""
    return urlsafe_b64encode(orjson.dumps([*place_of(last.record)])).decode().rstrip("=")


def after_of(request: Request) -> Place | None:
    """Return the place after which the page begins that is asked for; None: it is the first.

    Raises:
        RequestRejected: The cursor is none that was given.
    """
    cursor = request.query_params.get("cursor")
    if cursor is None:
        return None
    try:
        created_ms, owner, run = orjson.loads(_bytes(cursor))
    except (ValueError, TypeError):
        raise _odd() from None
    texts = isinstance(owner, str) and isinstance(run, str) and "\0" not in owner + run
    if not texts or type(created_ms) is not int or not 0 <= created_ms < _LATEST_MS:
        raise _odd()
    return Place(created_ms, owner, run)


def _bytes(cursor: str) -> bytes:
    if len(cursor) > _LONGEST:
        raise ValueError(cursor[:_LONGEST])
    return b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)


def _odd() -> RequestRejected:
    message = "cursor must be the next_cursor of a list of runs."
    return RequestRejected(message, param="cursor")
