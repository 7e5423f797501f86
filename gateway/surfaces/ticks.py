"""``GET /admin/ticks``: a stream of comments in even time, by which a buffering proxy is found."""

from __future__ import annotations

from typing import Final

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

TICKS: Final = 5
EVERY_S: Final = 0.3
_HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]


class Ticks(Response):
    """A comment now, and one each three tenths of a second, with the headers of any stream."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send them; a client that leaves misses the rest."""
        del scope, receive
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        for number in range(TICKS):
            if number:
                await anyio.sleep(EVERY_S)
            piece = b": tick %d\n\n" % number
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})


async def ticks(request: Request) -> Response:
    """Serve them."""
    del request
    return Ticks()
