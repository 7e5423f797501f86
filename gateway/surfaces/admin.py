"""``/admin/keys``, ``/admin/teams`` and ``/admin/budgets``, for the bearer of the admin token."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Final, TypeAlias, TypeVar

import orjson
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.policy.asked import (
    BudgetChange,
    Faulty,
    KeyChange,
    NewBudget,
    NewKey,
    NewTeam,
    fault_of,
)
from gateway.policy.register import BudgetName, Made, Register
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.database.records import NotThere, Taken
from gateway.surfaces.asked import refusal
from gateway.surfaces.incoming import body_of, headers_of
from gateway.surfaces.operations import is_bearer, json_answer, refused
from techniques.core.errors import GatewayError, TooLarge

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
AskedT = TypeVar("AskedT", bound=BaseModel)

_MOST_BYTES: Final = 64 * 1024


def for_admin(token: str | None, serve: Endpoint) -> Endpoint:
    """Return *serve* for the bearer of *token* only; None: for nobody."""

    async def guarded(request: Request) -> Response:
        if token is None:
            return refused("Set LOCKGATE_ADMIN_TOKEN to use the admin routes.", 403)
        if not is_bearer(request, token):
            return refused("This needs the admin token.", 401)
        try:
            return await serve(request)
        except (ValidationError, Faulty, NotThere, Taken, TooLarge, DatabaseLost) as error:
            return _refusal(error)
        except GatewayError as error:  # its body cannot be read, or it has left
            return refusal(error)

    return guarded


def _refusal(error: Exception) -> Response:
    match error:
        case ValidationError():
            return _refusal(fault_of(error))
        case Faulty():
            return refused(str(error), 400, error.param or None)
        case DatabaseLost():
            return refused("The database does not answer now.", 503)
        case _:
            return refused(str(error), _STATUS[type(error)])


_STATUS: Final = {NotThere: 404, Taken: 409, TooLarge: 413}


def routes(register: Register | None, token: str | None) -> list[Route]:
    """Return the routes over *register*; None: there is no database, and they say so."""
    serve = _Endpoints(register)
    budget = "/admin/budgets/{kind}/{name}/{period}"
    return [
        Route(path, for_admin(token, endpoint), methods=[method])
        for path, method, endpoint in (
            ("/admin/keys", "GET", serve.keys),
            ("/admin/keys", "POST", serve.create_key),
            ("/admin/keys/{name}", "PATCH", serve.change_key),
            ("/admin/keys/{name}", "DELETE", serve.revoke_key),
            ("/admin/keys/{name}/rotate", "POST", serve.rotate_key),
            ("/admin/teams", "GET", serve.teams),
            ("/admin/teams", "POST", serve.create_team),
            ("/admin/teams/{name}", "DELETE", serve.remove_team),
            ("/admin/budgets", "GET", serve.budgets),
            ("/admin/budgets", "POST", serve.create_budget),
            (budget, "PATCH", serve.change_budget),
            (budget, "DELETE", serve.remove_budget),
        )
    ]


class _Endpoints:
    """One method a route; what goes wrong is worded by ``for_admin``."""

    def __init__(self, register: Register | None) -> None:
        self._found = register

    @property
    def _register(self) -> Register:
        if self._found is None:
            raise NotThere("There is no database here: set database.url.")
        return self._found

    async def keys(self, request: Request) -> Response:
        del request
        return json_answer({"keys": await self._register.keys()})

    async def create_key(self, request: Request) -> Response:
        return _made(await self._register.create_key(await body_as(request, NewKey)), 201)

    async def change_key(self, request: Request) -> Response:
        asked = await body_as(request, KeyChange)
        return json_answer(await self._register.change_key(request.path_params["name"], asked))

    async def rotate_key(self, request: Request) -> Response:
        return _made(await self._register.rotate_key(request.path_params["name"]), 200)

    async def revoke_key(self, request: Request) -> Response:
        return json_answer(await self._register.revoke_key(request.path_params["name"]))

    async def teams(self, request: Request) -> Response:
        del request
        return json_answer({"teams": await self._register.teams()})

    async def create_team(self, request: Request) -> Response:
        return json_answer(await self._register.create_team(await body_as(request, NewTeam)), 201)

    async def remove_team(self, request: Request) -> Response:
        name = request.path_params["name"]
        await self._register.remove_team(name)
        return json_answer({"name": name, "removed": True})

    async def budgets(self, request: Request) -> Response:
        del request
        return json_answer({"budgets": await self._register.budgets(datetime.now(UTC))})

    async def create_budget(self, request: Request) -> Response:
        asked = await body_as(request, NewBudget)
        return json_answer(await self._register.create_budget(asked, datetime.now(UTC)), 201)

    async def change_budget(self, request: Request) -> Response:
        asked = await body_as(request, BudgetChange)
        named = _budget_name(request)
        return json_answer(await self._register.change_budget(named, asked, datetime.now(UTC)))

    async def remove_budget(self, request: Request) -> Response:
        named = _budget_name(request)
        await self._register.remove_budget(named)
        return json_answer({named.kind: named.owner, "period": named.period, "removed": True})


def _budget_name(request: Request) -> BudgetName:
    kind, name, period = (request.path_params[part] for part in ("kind", "name", "period"))
    if kind not in ("key", "team"):
        raise NotThere("There are budgets of a key and of a team.")
    return BudgetName(kind, name, period)


async def body_as(request: Request, form: type[AskedT]) -> AskedT:
    """Return the body as a *form*; none at all is an empty one.

    Raises:
        Faulty: It is no JSON object.
        ValidationError: It is no such form.
        TooLarge: It has more than 64 KiB.
    """
    raw = await body_of(request.receive, headers_of(request.scope), _MOST_BYTES)
    try:
        body = orjson.loads(raw) if raw.strip() else {}
    except orjson.JSONDecodeError as error:
        raise Faulty("", f"The body is no JSON: {error}") from error
    if not isinstance(body, dict):
        raise Faulty("", "The body must be a JSON object.")
    return form.model_validate(body)


def _made(made: Made, status: int) -> Response:
    answer = json_answer({"key": made.text, **made.told}, status)
    answer.headers["cache-control"] = "no-store"
    return answer
