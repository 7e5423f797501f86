"""``GET /v1/models``: what can be named, in the shape of the client's own dialect."""

from __future__ import annotations

import orjson
from starlette.requests import Request
from starlette.responses import Response

from gateway.policy.access import may_use
from gateway.policy.models import Catalogue
from gateway.surfaces.completion import Front
from gateway.surfaces.incoming import headers_of
from gateway.surfaces.model_rows import anthropic_page, anthropic_row, openai_list, openai_row
from gateway.surfaces.named import OWN, name_headers, new_name
from gateway.surfaces.spoken import failed
from gateway.wire.dialect import Dialect
from techniques.core.errors import GatewayError, UnknownModel
from techniques.core.json import JsonObject


class ModelsEndpoint:
    """Lists models. A request with an ``anthropic-version`` header gets Anthropic's shape."""

    def __init__(
        self, catalogue: Catalogue, front: Front, dialects: tuple[Dialect, Dialect]
    ) -> None:
        self._catalogue = catalogue
        self._front = front
        self._openai, self._anthropic = dialects

    async def all(self, request: Request) -> Response:
        """Serve ``/v1/models``."""
        try:
            caller = await self._front.door.caller(headers_of(request.scope))
            models = [m for m in self._catalogue.listed().values() if may_use(caller, m)]
            if _is_anthropic(request):
                return _json(request, anthropic_page(models, request.query_params))
        except GatewayError as error:
            return self._failed(request, error)
        return _json(request, openai_list(models))

    async def one(self, request: Request) -> Response:
        """Serve ``/v1/models/{name}``."""
        try:
            caller = await self._front.door.caller(headers_of(request.scope))
            model = self._catalogue.find(request.path_params["name"])
            if not may_use(caller, model):
                raise UnknownModel(f"There is no model {model.target.shown!r}.", param="model")
        except GatewayError as error:
            return self._failed(request, error)
        row = anthropic_row(model) if _is_anthropic(request) else openai_row(model)
        return _json(request, row)

    def _failed(self, request: Request, error: GatewayError) -> Response:
        dialect = self._anthropic if _is_anthropic(request) else self._openai
        names = _named(request)
        response = failed(error, dialect, names[OWN])
        response.headers.update(names)
        return response


def _is_anthropic(request: Request) -> bool:
    return "anthropic-version" in request.headers


def _json(request: Request, body: JsonObject) -> Response:
    return Response(orjson.dumps(body), 200, _named(request), "application/json")


def _named(request: Request) -> dict[str, str]:
    return name_headers(new_name(), "anthropic" if _is_anthropic(request) else "openai_chat")
