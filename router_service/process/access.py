"""Who may ask: the bearer of the token; without a token, this machine."""

from __future__ import annotations

from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from router_service.groundwork.bearer import carries
from router_service.groundwork.nearby import far
from router_service.process.config import ServerSettings
from router_service.process.replies import error_reply

_OPEN: Final = frozenset({"/healthz", "/readyz"})
_METRICS: Final = "/metrics"


class Access:
    """Lets in to *app* who may ask; how it is may be asked by anybody."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        self._token = settings.token.get_secret_value() if settings.token else None
        stated = settings.metrics_token
        self._metrics = stated.get_secret_value() if stated else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or say why not."""
        if scope["type"] != "http" or scope["path"] in _OPEN:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        token = self._metrics if scope["path"] == _METRICS else self._token
        if token is not None and not carries(headers.get("authorization", ""), token):
            refused = error_reply(401, "invalid_token", "This needs the router's bearer token.")
            refused.headers["www-authenticate"] = "Bearer"
            await refused(scope, receive, send)
        elif self._token is None and (found := far(headers)) is not None:
            name, value = found
            told = f"This router has no token, so it serves this machine only; {name}: {value!r}."
            await error_reply(403, "not_from_here", told[:300])(scope, receive, send)
        else:
            await self._app(scope, receive, send)
