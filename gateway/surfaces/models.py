"""``GET /v1/models``: what can be named, in the shape of the client's own dialect."""

from __future__ import annotations

from typing import Final

import orjson
from starlette.requests import Request
from starlette.responses import Response

from gateway.policy.access import may_use
from gateway.policy.models import Catalogue, Model
from gateway.surfaces.completion import Front
from gateway.surfaces.incoming import headers_of
from gateway.surfaces.named import OWN, name_headers, new_name
from gateway.surfaces.spoken import failed
from gateway.wire.dialect import Dialect
from techniques.core.errors import GatewayError, UnknownModel
from techniques.core.json import JsonObject

_CREATED: Final = 0
_CREATED_AT: Final = "1970-01-01T00:00:00Z"


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
        headers = headers_of(request.scope)
        try:
            caller = await self._front.door.caller(headers)
        except GatewayError as error:
            return self._failed(request, error)
        models = [m for m in self._catalogue.named().values() if may_use(caller, m)]
        if _is_anthropic(request):
            rows = [_anthropic_row(model) for model in models]
            first, last = (rows[0]["id"], rows[-1]["id"]) if rows else (None, None)
            listed = {"data": rows, "has_more": False, "first_id": first, "last_id": last}
            return _json(request, listed)
        return _json(request, {"object": "list", "data": [_openai_row(model) for model in models]})

    async def one(self, request: Request) -> Response:
        """Serve ``/v1/models/{name}``."""
        try:
            caller = await self._front.door.caller(headers_of(request.scope))
            model = self._catalogue.find(request.path_params["name"])
            if not may_use(caller, model):
                raise UnknownModel(f"There is no model {model.name!r}.", param="model")
        except GatewayError as error:
            return self._failed(request, error)
        row = _anthropic_row(model) if _is_anthropic(request) else _openai_row(model)
        return _json(request, row)

    def _failed(self, request: Request, error: GatewayError) -> Response:
        dialect = self._anthropic if _is_anthropic(request) else self._openai
        names = _named(request)
        response = failed(error, dialect, names[OWN])
        response.headers.update(names)
        return response


def _is_anthropic(request: Request) -> bool:
    return "anthropic-version" in request.headers


def _openai_row(model: Model) -> JsonObject:
    owner = model.target.provider
    return {"id": model.target.shown, "object": "model", "created": _CREATED, "owned_by": owner}


def _anthropic_row(model: Model) -> JsonObject:
    name = model.target.shown
    return {
        "type": "model",
        "id": name,
        "display_name": name,
        "created_at": _CREATED_AT,
        "lifecycle": "active",
        "max_input_tokens": model.target.capabilities.context,
    }


def _json(request: Request, body: JsonObject) -> Response:
    return Response(orjson.dumps(body), 200, _named(request), "application/json")


def _named(request: Request) -> dict[str, str]:
    return name_headers(new_name(), "anthropic" if _is_anthropic(request) else "openai_chat")
