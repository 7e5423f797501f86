"""What the paths that agents and people ask at share: their bodies, their errors, their waiting."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive

from gateway.policy.asked import fault_of
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.database.records import NotThere, Taken
from gateway.stores.ledger import StoreLost
from gateway.surfaces.gate import Gate
from gateway.surfaces.incoming import body_of, headers_of
from gateway.surfaces.named import name_headers, new_name
from gateway.surfaces.numbers import whole
from gateway.surfaces.operations import refused
from gateway.surfaces.spoken import CHAT, failed
from gateway.wire.body import parse
from gateway.wire.respond import Gone
from techniques.core.errors import GatewayError, RequestRejected, Unavailable
from techniques.core.groups import task_group

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
FormT = TypeVar("FormT", bound=BaseModel)
ResultT = TypeVar("ResultT")

LONGEST_MS: Final = 55_000
"""How long a request may be kept waiting for something to come: clients wait for a minute."""
_MOST_BYTES: Final = 64 * 1024
_LEFT: Final = 499


def asked_at(gate: Gate, serve: Endpoint) -> Endpoint:
    """Return *serve* with its errors worded; a gateway that stops takes no more of it."""

    async def guarded(request: Request) -> Response:
        try:
            if gate.closing:
                raise Unavailable("The gateway is stopping; send the request again.")
            response = await serve(request)
        except (GatewayError, ValidationError, NotThere, Taken, DatabaseLost, StoreLost) as error:
            response = refusal(error)
        response.headers.update(name_headers(new_name(), "openai_chat"))
        return response

    return guarded


def refusal(error: Exception) -> Response:
    """Return the response that tells of *error*."""
    match error:
        case Gone():
            return Response(status_code=_LEFT)
        case GatewayError():
            return failed(error, CHAT)
        case ValidationError():
            fault = fault_of(error)
            return refused(str(fault), 400, fault.param or None)
        case NotThere() | Taken():
            return refused(str(error), 404 if isinstance(error, NotThere) else 409)
        case _:
            code = "database_lost" if isinstance(error, DatabaseLost) else "store_lost"
            return refusal(Unavailable("This cannot be told now.", code=code))


async def form_of(request: Request, form: type[FormT]) -> FormT:
    """Return the body as a *form*; none at all is an empty one.

    Raises:
        RequestRejected: It is no JSON object.
        ValidationError: It is no such form.
        TooLarge: It has more than 64 KiB.
        Gone: The client left.
    """
    raw = await body_of(request.receive, headers_of(request.scope), _MOST_BYTES)
    return form.model_validate(parse(raw) if raw.strip() else {})


def wait_s_of(request: Request) -> float:
    """Return how many seconds the query's ``wait_ms`` lets the answer wait.

    Raises:
        RequestRejected: It is no number, or too large.
    """
    wait = whole(request.query_params.get("wait_ms", "0"), 0, LONGEST_MS)
    if wait is None:
        message = f"wait_ms must be a number from 0 to {LONGEST_MS}."
        raise RequestRejected(message, code="invalid_value", param="wait_ms")
    return wait / 1000


async def attended(receive: Receive, work: Callable[[], Awaitable[ResultT]]) -> ResultT:
    """Return what *work* gives; it ends when the client has left.

    Raises:
        Gone: The client left.
    """
    found: list[ResultT] = []

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        group.cancel_scope.cancel()

    async with task_group() as group:
        group.start_soon(watch)
        found.append(await work())
        group.cancel_scope.cancel()
    if not found:
        raise Gone("The client left.")
    return found[0]
