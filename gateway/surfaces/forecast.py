"""``POST /v1/forecast``: what a run of many steps will use, cost and wait for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from gateway.forecast.asked import read
from gateway.forecast.forecaster import Forecaster
from gateway.policy.wishes import PREFIX
from gateway.surfaces.completion import Front
from gateway.surfaces.incoming import body_of, headers_of
from gateway.surfaces.named import name_headers, new_name
from gateway.surfaces.operations import json_answer
from gateway.surfaces.spoken import dialect_of, failed
from gateway.wire.body import parse
from router_service.groundwork.aside import aside, is_heavy
from techniques.core.errors import GatewayError
from techniques.core.json import JsonObject

_RUN: Final = f"{PREFIX}run"
_MOST_BYTES: Final = 4 * 1024 * 1024


class ForecastEndpoint:
    """Answers forecasts; a request with an ``anthropic-version`` header gets Anthropic's errors."""

    def __init__(self, forecaster: Forecaster, front: Front) -> None:
        self._forecaster = forecaster
        self._front = front

    async def serve(self, request: Request) -> Response:
        """Serve one forecast."""
        headers = headers_of(request.scope)
        dialect = dialect_of(headers)
        try:
            answer = json_answer(await self._let_in(request, headers))
        except GatewayError as error:
            answer = failed(error, dialect)
        answer.headers.update(name_headers(new_name(), dialect.name))
        return answer

    async def _let_in(self, request: Request, headers: Mapping[str, str]) -> JsonObject:
        front = self._front
        front.gate.enter()
        try:
            caller = await front.door.caller(headers)
            raw = await body_of(request.receive, headers, min(front.max_body, _MOST_BYTES))
            asked = await aside(lambda: read(parse(raw), headers.get(_RUN)), heavy=is_heavy(raw))
            return await self._forecaster.forecast(asked, caller)
        finally:
            front.gate.leave()
