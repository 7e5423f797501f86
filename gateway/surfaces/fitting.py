"""``/admin/router/fit``: finds out anew what the router here decides by, and tells what that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.stores.database.records import NotThere, Taken
from gateway.surfaces.admin import body_as, for_admin
from gateway.surfaces.operations import json_answer
from router_service.fitting.fitter import Busy, FitForm, Fitter

_NONE: Final = (
    "There is no router here that learns: router.type must be acm_linear or semknn, and "
    "database.url a database. One that is far away is fitted where it is."
)


@dataclass(frozen=True, slots=True)
class FitEndpoint:
    """Fits by ``found``, for the bearer of ``admin_token``; None: there is nothing to fit."""

    found: Fitter | None
    admin_token: str | None

    def routes(self) -> list[Route]:
        """Return the routes."""
        served = (("GET", self.told), ("POST", self.fit), ("DELETE", self.withdraw))
        return [
            Route("/admin/router/fit", for_admin(self.admin_token, serve), methods=[method])
            for method, serve in served
        ]

    @property
    def _fitter(self) -> Fitter:
        if self.found is None:
            raise NotThere(_NONE)
        return self.found

    async def told(self, request: Request) -> Response:
        """Tell what is served, and who had it served."""
        del request
        return json_answer(await self._fitter.told())

    async def fit(self, request: Request) -> Response:
        """Fit once."""
        fitter = self._fitter
        try:
            return json_answer(await fitter.fit(await body_as(request, FitForm)))
        except Busy as error:
            raise Taken(str(error)) from None

    async def withdraw(self, request: Request) -> Response:
        """Serve what was served before."""
        by = FitForm(by=request.query_params.get("by", "")).by
        told = await self._fitter.withdraw(by)
        if told is None:
            raise NotThere("No fit is served.")
        return json_answer(told)
