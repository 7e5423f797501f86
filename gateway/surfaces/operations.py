"""What operators ask: is it alive, is it ready, its metrics, and the record of a request."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Final

import anyio
import orjson
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gateway.metering.meters.rows import RecentRows
from gateway.metering.spool import Spool
from gateway.surfaces.gate import Gate
from techniques.core.json import JsonObject

_NOT_KEPT: Final = (
    "This request is not kept here: it has not ended, or its id is another, or another worker "
    "served it (ask again), or it is older than those that are kept, or than this process."
)
_CODES: Final = {
    400: "invalid_request",
    401: "invalid_api_key",
    403: "permission_denied",
    404: "not_found",
}


def healthz(request: Request) -> Response:
    """Say that the process lives."""
    del request
    return _json({"status": "ok"})


class ReadyEndpoint:
    """``GET /readyz``: whether calls are taken."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def serve(self, request: Request) -> Response:
        """Say that calls are taken, or with 503 that the gateway is stopping."""
        del request
        if self._gate.closing:
            return _json({"status": "stopping"}, 503)
        return _json({"status": "ready"})


def unknown_path(request: Request, error: Exception) -> Response:
    """Say in JSON that there is nothing at this path, or not for this method."""
    status = error.status_code if isinstance(error, HTTPException) else 404
    path = request.url.path
    message = f"There is no {request.method} {path[:128]} here."
    if path.startswith("/v1/v1/"):
        message += " The base URL of this client must not end in /v1."
    elif path in ("/chat/completions", "/messages", "/models"):
        message += " The base URL of this client must end in /v1."
    if "anthropic-version" in request.headers:
        return _json(
            {"type": "error", "error": {"type": "not_found_error", "message": message}}, status
        )
    told = {"type": "invalid_request_error", "param": None, "code": "unknown_path"}
    return _json({"error": {"message": message, **told}}, status)


class MetricsEndpoint:
    """``GET /metrics``; with a *token*, for its bearer only."""

    def __init__(
        self, spool: Spool, collect: Callable[[], CollectorRegistry], token: str | None
    ) -> None:
        self._spool = spool
        self._collect = collect
        self._token = token

    async def serve(self, request: Request) -> Response:
        """Serve the metrics in Prometheus's text format."""
        if self._token is not None and not is_bearer(request, self._token):
            return _refused("This needs the metrics token.", 401)
        self._spool.drain()
        text = await anyio.to_thread.run_sync(self._render)  # thousands of series take a while
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    def _render(self) -> bytes:
        return generate_latest(self._collect())


class LedgerEndpoint:
    """``GET /admin/ledger?request=ID``, for the bearer of the admin token."""

    def __init__(self, spool: Spool, rows: RecentRows, token: str | None) -> None:
        self._spool = spool
        self._rows = rows
        self._token = token

    async def serve(self, request: Request) -> Response:
        """Serve the rows of one request."""
        if self._token is None:
            return _refused("Set LOCKGATE_ADMIN_TOKEN to use the admin routes.", 403)
        if not is_bearer(request, self._token):
            return _refused("This needs the admin token.", 401)
        self._spool.drain()
        request_id = request.query_params.get("request")
        if not request_id:
            return _refused("Say which: ?request=ID", 400)
        found = self._rows.request(request_id)
        if found is None:
            return _refused(_NOT_KEPT, 404)
        return _json({"rows": self._rows.rows(request_id), "request": found})


def is_bearer(request: Request, token: str) -> bool:
    """Return whether *request* carries *token*, in constant time; nobody carries an empty one."""
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    same = hmac.compare_digest(given.strip().encode("latin-1"), token.encode())
    return same and bool(token) and scheme.lower() == "bearer"


def _refused(message: str, status: int) -> Response:
    told = {"type": "invalid_request_error", "param": None, "code": _CODES[status]}
    return _json({"error": {"message": message, **told}}, status)


def _json(body: JsonObject, status: int = 200) -> Response:
    return Response(orjson.dumps(body), status, media_type="application/json")
