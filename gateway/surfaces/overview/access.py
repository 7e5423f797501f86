"""Who may look on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from gateway.policy.keys import Door
from gateway.surfaces.operations import is_bearer, json_answer, refused
from router_service.groundwork.nearby import is_near
from techniques.core.errors import GatewayError

_NO_TOKEN: Final = "This gateway has keys: set LOCKGATE_ADMIN_TOKEN to see what it does."
_ELSEWHERE: Final = (
    "Without an admin token this is told only under an address of this machine, such as "
    "http://127.0.0.1 or http://localhost."
)


@dataclass(frozen=True, slots=True)
class Access:
    """The bearer of *token* may; where there is neither a token nor a key, anyone on this machine.

    A web page elsewhere whose name was made to lead here names another host, and may not.
    """

    door: Door
    token: str | None

    async def refusal(self, request: Request) -> Response | None:
        """Return what *request* is refused with, None if it may look on."""
        if self.token is not None:
            ok = is_bearer(request, self.token)
            return None if ok else refused("This needs the admin token.", 401)
        why = await self._closed(request)
        return None if why is None else refused(why, 403)

    async def told(self, request: Request) -> Response:
        """Tell how *request* could look on: by a ``token``, without, or not at all and why."""
        if self.token is not None:
            return json_answer({"access": "token"})
        why = await self._closed(request)
        return json_answer({"access": "open"} if why is None else {"access": "closed", "why": why})

    async def _closed(self, request: Request) -> str | None:
        """Return why *request* may not look on, as there is no token; None if it may."""
        if await self.has_keys():
            return _NO_TOKEN
        return None if is_near(request.headers.get("host", "")) else _ELSEWHERE

    async def has_keys(self) -> bool:
        """Return whether nobody is let in without a key."""
        try:
            await self.door.caller({})
        except GatewayError:
            return True
        return False
