"""What operators ask: is it alive, is it ready, its metrics."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Final

import anyio
import orjson
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gateway.metering.spool import Spool
from gateway.surfaces.gate import Gate
from gateway.surfaces.named import name_headers, new_name
from router_service.groundwork.bearer import carries
from techniques.core.json import JsonObject

_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_CODES: Final = {
    400: "invalid_request",
    401: "invalid_api_key",
    403: "permission_denied",
    404: "not_found",
    409: "conflict",
    413: "request_too_large",
    503: "unavailable",
}


def healthz(request: Request) -> Response:
    """Say that the process lives."""
    del request
    return json_answer({"status": "ok"})


class ReadyEndpoint:
    """``GET /readyz``: whether calls are taken, and what is *lost* of what serves them."""

    def __init__(self, gate: Gate, lost: Callable[[], list[str]] = list) -> None:
        self._gate = gate
        self._lost = lost

    def serve(self, request: Request) -> Response:
        """Say that calls are taken, or with 503 that the gateway is stopping.

        A store that is lost is said with 200: what goes on without it is served.
        """
        del request
        if self._gate.closing:
            return json_answer({"status": "stopping"}, 503)
        if lost := self._lost():
            return json_answer({"status": "degraded", "lost": lost})
        return json_answer({"status": "ready"})


def unknown_path(posted: Container[str], request: Request, error: Exception) -> Response:
    """Say in JSON that there is nothing at this path, or not for this method.

    Paths in *posted* are there for ``POST``.
    """
    status = error.status_code if isinstance(error, HTTPException) else 404
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    path = request.url.path
    if path in posted:
        status, headers = 405, {"allow": "POST"}
    message = f"There is no {request.method} {path[:128]} here."
    name = new_name()
    if path.startswith("/api/"):
        answer = json_answer({"error": message}, status)
    elif "anthropic-version" in request.headers:
        kind = "not_found_error" if status == _NOT_FOUND else "invalid_request_error"
        told: JsonObject = {"type": kind, "message": message}
        answer = json_answer({"type": "error", "error": told, "request_id": name}, status)
        headers |= name_headers(name, "anthropic")
    else:
        said = {"type": "invalid_request_error", "param": None, "code": "unknown_path"}
        answer = json_answer({"error": {"message": message, **said}}, status)
        headers |= name_headers(name, "openai_chat")
    answer.headers.update(headers)
    return answer


class MetricsEndpoint:
    """``GET /metrics``; with a *token*, for its bearer only."""

    def __init__(
        self, spool: Spool, collect: Callable[[], CollectorRegistry], token: str | None
    ) -> None:
        self._spool = spool
        self._collect = collect
        self._token = token

    async def serve(self, request: Request) -> Response:
        """Serve the metrics as OpenMetrics, with examples, or in Prometheus's older text format.

        Who scrapes says in ``accept`` what it can read.
        """
        if self._token is not None and not is_bearer(request, self._token):
            return refused("This needs the metrics token.", 401)
        self._spool.drain()
        encoder, kind = choose_encoder(request.headers.get("accept", ""))
        # thousands of series take a while
        text = await anyio.to_thread.run_sync(lambda: encoder(self._collect()))
        return Response(text, media_type=kind)


def summed() -> CollectorRegistry:
    """Return what all workers of this gateway have counted, from the files that they count into."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry)
    return registry


def is_bearer(request: Request, token: str) -> bool:
    """Return whether *request* carries *token*, in constant time; nobody carries an empty one."""
    return carries(request.headers.get("authorization", ""), token)


def refused(message: str, status: int, param: str | None = None) -> Response:
    """Return an error as every path that is not a model's answers with it."""
    told = {"type": "invalid_request_error", "param": param, "code": _CODES[status]}
    answer = json_answer({"error": {"message": message, **told}}, status)
    if status == _CONFLICT:  # which SDKs would try again, in vain
        answer.headers["x-should-retry"] = "false"
    return answer


def json_answer(body: JsonObject, status: int = 200) -> Response:
    """Return *body* as JSON."""
    return Response(orjson.dumps(body), status, media_type="application/json")
