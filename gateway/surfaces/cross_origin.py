"""Web pages from elsewhere that may ask this gateway: their browsers are told that they may.

Source: Fetch Standard, "HTTP extensions" (CORS protocol).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

ANY: Final = "*"
_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_NOT_FOR_CLIENTS: Final = ("/admin", "/ui", "/metrics")
_DAY_S: Final = 86_400


class CrossOrigin(CORSMiddleware):
    """Lets pages of *origins* ask *app*, but for what is the operator's.

    An origin that is named is let in also where there are no keys. Of ``*`` that does not hold: any
    page that somebody on this machine looks at could spend money.
    """

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        patterned = [_pattern(one) for one in origins if ANY in one and one != ANY]
        super().__init__(
            app,
            allow_origins=origins,
            allow_origin_regex="|".join(patterned) if patterned else None,
            allow_methods=_METHODS,
            allow_headers=(ANY,),
            expose_headers=(ANY,),
            allow_private_network=ANY not in origins,
            max_age=_DAY_S,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["path"].startswith(_NOT_FOR_CLIENTS):
            await self.app(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    async def simple_response(
        self, scope: Scope, receive: Receive, send: Send, request_headers: Headers
    ) -> None:
        """Serve a request that is no question of a browser; one that may ask is let in."""
        origin = request_headers.get("origin", "")
        if not self.allow_all_origins and self.is_allowed_origin(origin):
            others = [header for header in scope["headers"] if header[0] != b"origin"]
            scope = {**scope, "headers": others}
        await super().simple_response(scope, receive, send, request_headers)


def _pattern(origin: str) -> str:
    """Return what matches an *origin* in which a ``*`` stands for a part of it."""
    return re.escape(origin).replace(re.escape(ANY), "[^/]*")
