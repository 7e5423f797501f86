"""``POST /v1/messages/count_tokens``: the provider's own count where it has one, else a guess."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic

from starlette.requests import Request
from starlette.responses import Response

from gateway.policy.models import Model
from gateway.surfaces.completion import Front, forwarded
from gateway.surfaces.incoming import body_of, headers_of
from gateway.upstream.providers.anthropic.count_tokens import count_tokens_call, read_count
from gateway.wire.anthropic import count_tokens as counting
from gateway.wire.body import parse
from gateway.wire.dialect import Call, Dialect
from techniques.core.errors import GatewayError

_ANTHROPIC = "anthropic"
_MOST_BYTES = 64 * 1024
_WAIT_S = 30.0


class CountTokensEndpoint:
    """Counts the input tokens of a Messages request."""

    def __init__(self, front: Front, dialect: Dialect) -> None:
        self._front = front
        self._dialect = dialect

    async def serve(self, request: Request) -> Response:
        """Serve one count."""
        try:
            tokens, source = await self._count(request)
        except GatewayError as error:
            failure = self._dialect.failure(error)
            return Response(failure.body, failure.status, dict(failure.headers), "application/json")
        headers = {"x-lockgate-count-source": source}
        return Response(counting.encode_count(tokens), 200, headers, "application/json")

    async def _count(self, request: Request) -> tuple[int, str]:
        headers = headers_of(request.scope)
        caller = self._front.door.caller(headers)
        raw = await body_of(request.receive, headers, self._front.max_body)
        call = counting.decode(parse(raw), raw)
        model = self._front.pipeline.planner.permitted(call.model, caller)
        if model.channel.provider.dialect != _ANTHROPIC:
            return counting.estimate(call.relay.decode()), "estimate"
        return await self._asked(call, model, headers), "provider"

    async def _asked(self, call: Call, model: Model, headers: Mapping[str, str]) -> int:
        sent = count_tokens_call(call.relay, model.target, forwarded(headers, _ANTHROPIC))
        response = await model.channel.transport.post(sent, monotonic() + _WAIT_S)
        try:
            body = bytearray()
            while len(body) < _MOST_BYTES and (chunk := await response.read()):
                body += chunk
        finally:
            response.close()
        if response.status != 200:
            told = {name.lower(): value for name, value in response.headers.items()}
            raise model.channel.provider.failure(response.status, told, bytes(body))
        return read_count(bytes(body))
