"""The simulation as a provider that is reached over HTTP: every key has an account of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Final

import orjson
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from gateway.upstream.provider import HttpCall
from gateway.upstream.simulated import wording
from gateway.upstream.simulated.asked import Refused
from gateway.upstream.simulated.settings import EMBEDDERS, Simulation
from gateway.upstream.simulated.transport import SimulatedResponse, SimulatedTransport

_JSON: Final = "application/json"
_MOST_ACCOUNTS: Final = 256
_MOST_BYTES: Final = 20 * 2**20


@dataclass
class SimulatedServer:
    """Answers at ``/v1`` as *simulation* says, in the words of OpenAI's API.

    Limits are those of an account. Any key is taken; who has none shares one account, and so do
    those who come when there are 256 accounts.
    """

    simulation: Simulation
    _accounts: dict[str, SimulatedTransport] = field(default_factory=dict)

    def application(self) -> Starlette:
        """Return what serves it."""
        return Starlette(
            routes=[
                Route("/healthz", _alive),
                Route("/v1/models", self._models),
                Route("/v1/{path:path}", self._answer, methods=["POST"]),
            ]
        )

    async def _answer(self, request: Request) -> Response:
        try:
            body = await _read(request)
        except Refused as refused:
            return Response(wording.failure(refused), refused.status, media_type=_JSON)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        account = self._account(request.headers.get("authorization", ""))
        call = HttpCall(f"/{request.path_params['path']}", body, dict(request.headers))
        answer = await account.post(call, 0)
        return StreamingResponse(_frames(answer), answer.status, answer.headers)

    async def _models(self, request: Request) -> Response:
        del request
        rows = [
            {"id": name, "object": "model", "created": 0, "owned_by": "lockgate-simulation"}
            for name in (*self.simulation.models, *EMBEDDERS)
        ]
        return Response(orjson.dumps({"object": "list", "data": rows}), media_type=_JSON)

    def _account(self, name: str) -> SimulatedTransport:
        if name not in self._accounts and len(self._accounts) >= _MOST_ACCOUNTS:
            name = ""
        return self._accounts.setdefault(name, SimulatedTransport(self.simulation))


async def _alive(request: Request) -> Response:
    del request
    return Response(b'{"status":"ok"}', media_type=_JSON)


async def _read(request: Request) -> bytes:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _MOST_BYTES:
            raise Refused(413, "The request is too large.")
    return bytes(body)


async def _frames(answer: SimulatedResponse) -> AsyncGenerator[bytes, None]:
    while frame := await answer.read():
        yield frame
