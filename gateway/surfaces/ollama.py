"""What Ollama's clients ask beside answers: is it there, which version, which models."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from gateway.policy.access import may_use
from gateway.policy.keys import Caller
from gateway.policy.models import Catalogue, Model
from gateway.surfaces.completion import Front
from gateway.surfaces.incoming import body_of, headers_of
from gateway.surfaces.named import name_headers, new_name
from gateway.surfaces.spoken import OLLAMA, failed
from gateway.wire.body import parse
from gateway.wire.ollama.fields import NAME, model_of, streamed
from gateway.wire.ollama.models import VERSION, Shown, card, row, tagged
from techniques.core.errors import GatewayError, RequestRejected
from techniques.core.json import JsonObject

_Serve: TypeAlias = Callable[[Request, Caller], Awaitable[Response]]

_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_CLOSED: Final[Mapping[str, tuple[str, ...]]] = {
    "/api/create": ("POST",),
    "/api/push": ("POST",),
    "/api/copy": ("POST",),
    "/api/delete": ("DELETE",),
    "/api/blobs/{digest}": ("HEAD", "POST"),
}
"""What would change the models: the operator does that, in the configuration."""
_LINES: Final = "application/x-ndjson"


class OllamaEndpoint:
    """The routes of Ollama's API that no model answers."""

    def __init__(self, catalogue: Catalogue, front: Front) -> None:
        self._catalogue = catalogue
        self._front = front

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/", running, methods=list(_METHODS)),
            Route("/api/version", version),
            Route("/api/tags", self._to(self._tags)),
            Route("/api/ps", self._to(self._loaded)),
            Route("/api/show", self._to(self._show), methods=["POST"]),
            Route("/api/pull", self._to(self._pull), methods=["POST"]),
            *(
                Route(path, self._to(self._refuse), methods=list(methods))
                for path, methods in _CLOSED.items()
            ),
        ]

    def _to(self, serve: _Serve) -> Callable[[Request], Awaitable[Response]]:
        """Return what serves callers with *serve*, and nobody else."""

        async def served(request: Request) -> Response:
            try:
                caller = await self._front.door.caller(headers_of(request.scope))
                response = await serve(request, caller)
            except GatewayError as error:
                response = failed(error, OLLAMA)
            response.headers.update(name_headers(new_name(), NAME))
            return response

        return served

    async def _tags(self, request: Request, caller: Caller) -> Response:
        del request
        named = self._catalogue.listed()
        models = [row(shown_of(model, named)) for model in named.values() if may_use(caller, model)]
        return _json({"models": models})

    async def _loaded(self, request: Request, caller: Caller) -> Response:
        """Say that no model is in the memory of this machine."""
        del request, caller
        return _json({"models": []})

    async def _show(self, request: Request, caller: Caller) -> Response:
        _, model = await self._named(request, caller)
        return _json(card(shown_of(model, self._catalogue.listed())))

    async def _pull(self, request: Request, caller: Caller) -> Response:
        """Say that a model is there, for clients that fetch before they use."""
        body, _ = await self._named(request, caller)
        done: JsonObject = {"status": "success"}
        if not streamed(body):
            return _json(done)
        lines = orjson.dumps({"status": "pulling manifest"}) + b"\n" + orjson.dumps(done) + b"\n"
        return Response(lines, 200, media_type=_LINES)

    async def _refuse(self, request: Request, caller: Caller) -> Response:
        del caller
        raise RequestRejected(
            f"{request.url.path[:64]} is not served here: models are added to the gateway's "
            "configuration by its operator, and /api/tags lists them.",
            code="unsupported_feature",
        )

    async def _named(self, request: Request, caller: Caller) -> tuple[JsonObject, Model]:
        """Return what is asked, and the model that it is about."""
        raw = await body_of(request.receive, headers_of(request.scope), self._front.max_body)
        body = parse(raw)
        if not body.get("model") and "name" in body:  # as the field was called at first
            body = {**body, "model": body["name"]}
        return body, self._front.pipeline.planner.permitted(model_of(body), caller)


def running(request: Request) -> Response:
    """Say that this is a server of Ollama's API, to programs; people are told where nothing is."""
    if request.method not in ("GET", "HEAD") or "text/html" in request.headers.get("accept", ""):
        raise HTTPException(404)
    return PlainTextResponse("Ollama is running")


def version(request: Request) -> Response:
    """Say of which version the API is that is spoken here."""
    del request
    return _json({"version": VERSION})


def shown_of(model: Model, named: Mapping[str, Model]) -> Shown:
    """Return what is told of *model*; *named* are the models that are listed."""
    target = model.target
    can = target.capabilities
    able = {"tools": can.tools, "vision": can.vision, "thinking": target.thinks.able}
    capabilities = ("completion", *(name for name, has in able.items() if has))
    if can.embeddings:
        capabilities = ("embedding",)
    name = target.shown
    listed = name if tagged(name) in named else tagged(name)
    return Shown(name, listed, target.provider, target.model, capabilities, can.context)


def _json(body: JsonObject) -> Response:
    return Response(orjson.dumps(body), 200, media_type="application/json")
