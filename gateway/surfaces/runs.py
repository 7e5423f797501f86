"""``/v1/runs``: how a run stands, as it changes, and what its owner may have done with it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import anyio
import orjson
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from gateway.policy.asked import fault_of
from gateway.policy.keys import Caller, Door
from gateway.runs.book import RunBook
from gateway.stores.journal.memory import wall_ms
from gateway.stores.journal.records import RunName, Stored
from gateway.surfaces.behind import Behind, Pressed
from gateway.surfaces.incoming import body_of, headers_of
from gateway.surfaces.named import name_headers, new_name
from gateway.surfaces.run_view import view_of
from gateway.surfaces.spoken import dialect_of, failed
from gateway.wire.dialect import Dialect
from router_service.groundwork.section import Section
from techniques.core.errors import (
    GatewayError,
    RequestRejected,
    RunBusy,
    Unavailable,
    UnknownModel,
)
from techniques.core.json import JsonObject

Endpoint: TypeAlias = Callable[[Request, Caller], Awaitable[Response]]

_MOST_BYTES: Final = 4096
_LOOK_S: Final = 0.2
_PING_S: Final = 10.0
_OVER: Final = frozenset({"completed", "failed", "cancelled"})


class ResumeBody(Section):
    """What is said when a run is to go on: see ``Pressed``."""

    force: bool = False
    ambiguous: Literal["retry", "ask", "fail"] | None = None


def run_routes(door: Door, behind: Behind | None) -> list[Route]:
    """Return the routes; without a journal there are none."""
    if behind is None:
        return []
    serve = RunEndpoints(behind)
    at = "/v1/runs/{name:path}"
    return [
        Route(f"{at}/events", guarded(door, serve.events)),
        Route(f"{at}/resume", guarded(door, serve.resume), methods=["POST"]),
        Route(f"{at}/cancel", guarded(door, serve.cancel), methods=["POST"]),
        Route(at, guarded(door, serve.one)),
    ]


def guarded(door: Door, serve: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    """Return *serve* for whoever has a key; what goes wrong is told in the client's dialect."""

    async def answer(request: Request) -> Response:
        try:
            return await serve(request, await door.caller(headers_of(request.scope)))
        except GatewayError as error:
            dialect = dialect_of(request.headers)
            response = failed(error, dialect)
            response.headers.update(name_headers(new_name(), dialect.name))
            return response

    return answer


@dataclass(frozen=True, slots=True)
class RunEndpoints:
    """What is served of runs; a key sees its own."""

    behind: Behind

    @property
    def runs(self) -> RunBook:
        """The runs."""
        return self.behind.runs

    async def one(self, request: Request, caller: Caller) -> Response:
        """Serve how a run stands."""
        return run_json(view_of(await self._own(request, caller), wall_ms()))

    async def resume(self, request: Request, caller: Caller) -> Response:
        """Have a run go on, with nobody waiting for it."""
        stored = await self._own(request, caller)
        pressed = await _pressed(request)
        if stored.record.sent is None:
            raise RequestRejected("The request of this run was not kept.")
        if stored.is_executing:
            raise RunBusy("The run is at work already.")
        if stored.standing.state != "completed":
            await self.behind.begin(caller, stored.record.sent, stored.record.name.run, pressed)
        found = await self._own(request, caller)
        return run_json(view_of(found, wall_ms()), 202)

    async def cancel(self, request: Request, caller: Caller) -> Response:
        """End a run for good."""
        await self.runs.cancel(await self._own(request, caller))
        return run_json(view_of(await self._own(request, caller), wall_ms()))

    async def events(self, request: Request, caller: Caller) -> Response:
        """Stream how a run stands, each time that it has changed, until it is over."""
        stored = await self._own(request, caller)
        headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
        stream = self._told(stored, dialect_of(request.headers))
        return StreamingResponse(stream, headers=headers, media_type="text/event-stream")

    async def _told(self, stored: Stored, dialect: Dialect) -> AsyncGenerator[bytes, None]:
        """Yield changes; what ends before the run is over ends in an error."""
        try:
            async with aclosing(self._changes(stored)) as changes:
                async for change in changes:
                    yield change
        except GatewayError as error:
            yield b"event: error\ndata: %s\n\n" % dialect.failure(error).body

    async def _changes(self, stored: Stored) -> AsyncGenerator[bytes, None]:
        told: JsonObject = {}
        silent_s = 0.0
        found: Stored | None = stored
        while found is not None:
            shown = view_of(found, wall_ms())
            changed = {name: value for name, value in shown.items() if name != "eta_ms"}
            if changed != told:
                told, silent_s = changed, 0.0
                yield b"event: run\ndata: %s\n\n" % orjson.dumps(shown)
            elif silent_s >= _PING_S:
                silent_s = 0.0
                yield b": \n\n"
            if found.standing.state in _OVER:
                return
            await anyio.sleep(_LOOK_S)
            if self.behind.gate.closing:
                raise Unavailable("The gateway is stopping; ask again.")
            silent_s += _LOOK_S
            found = await self.runs.find(found.record.name)

    async def _own(self, request: Request, caller: Caller) -> Stored:
        name = request.path_params["name"]
        return await own_run(self.runs, caller, name)


async def own_run(runs: RunBook, caller: Caller, name: str) -> Stored:
    """Return the run of that name that is *caller*'s.

    Raises:
        UnknownModel: There is none.
    """
    stored = await runs.find(RunName(caller.name or "", name))
    if stored is None:
        raise UnknownModel(f"There is no run {name[:128]!r}.", code="run_not_found", param="id")
    return stored


async def _pressed(request: Request) -> Pressed:
    raw = await body_of(request.receive, headers_of(request.scope), _MOST_BYTES)
    try:
        said = ResumeBody.model_validate_json(raw or b"{}")
    except ValidationError as error:
        fault = fault_of(error)
        raise RequestRejected(str(fault), param=fault.param or None) from None
    return Pressed(said.force, said.ambiguous)


def run_json(body: Mapping[str, object], status: int = 200) -> Response:
    """Return what is told of one run."""
    headers = {**name_headers(new_name(), "openai_chat"), "x-lockgate-run": _shown(body)}
    return Response(orjson.dumps(body), status, headers, "application/json")


def _shown(body: Mapping[str, object]) -> str:
    return str(body["id"]).encode("ascii", "replace").decode()
