"""``/admin/reload``: serves what the configuration file says now, and tells what is served."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.metering.meters.reloads import Outcome
from gateway.surfaces.admin import for_admin
from gateway.surfaces.operations import json_answer
from techniques.core.json import JsonObject

_SHOWN: Final = 12
_UNFIT: Final = 422


@dataclass(frozen=True, slots=True)
class Reload:
    """How a reload went, and what is served: the *epoch*-th configuration, known by its *digest*.

    ``loaded`` is a time of the wall. ``waiting`` are settings of the file that want a restart,
    ``changed`` those that hold from now on, ``errors`` why nothing has changed.
    """

    outcome: Outcome
    epoch: int
    digest: str
    loaded: float
    waiting: Sequence[str] = ()
    errors: Sequence[str] = ()
    changed: Sequence[str] = ()
    notes: Sequence[str] = ()

    def told(self) -> JsonObject:
        """Return it as JSON."""
        return {
            "outcome": self.outcome,
            "epoch": self.epoch,
            "hash": self.digest[:_SHOWN],
            "loaded_at": f"{datetime.fromtimestamp(self.loaded, UTC):%Y-%m-%dT%H:%M:%SZ}",
            "changed": list(self.changed),
            "needs_restart": list(self.waiting),
            "errors": list(self.errors),
            "notes": list(self.notes),
        }


class Reloads(Protocol):
    """Who reloads."""

    def told(self) -> Reload:
        """Return what is served, and how the last reload went."""
        ...

    async def reload(self) -> Reload:
        """Serve what the file says now."""
        ...


def reload_routes(reloads: Reloads | None, token: str | None) -> list[Route]:
    """Return the routes over *reloads*, for the bearer of *token*; None: there are none."""
    if reloads is None:
        return []

    async def told(request: Request) -> Response:
        del request
        return json_answer(reloads.told().told())

    async def reload(request: Request) -> Response:
        del request
        done = await reloads.reload()
        if done.outcome != "refused":
            return json_answer(done.told())
        message = "The configuration is not fit, and nothing was changed: " + done.errors[0]
        error = {"message": message, "type": "invalid_request_error", "param": None}
        told = {"error": {**error, "code": "invalid_configuration"}, **done.told()}
        return json_answer(told, _UNFIT)

    return [
        Route("/admin/reload", for_admin(token, told), methods=["GET"]),
        Route("/admin/reload", for_admin(token, reload), methods=["POST"]),
    ]
