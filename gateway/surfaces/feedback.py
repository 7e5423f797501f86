"""``POST /v1/feedback``: what a client says of an answer, for the router to learn from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Final, Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.policy.keys import Caller
from gateway.routing.observing import Observer
from gateway.stores.database.engine import DatabaseLost, DatabaseUnusable
from gateway.stores.database.ledger import LedgerTable
from gateway.surfaces import admin
from gateway.surfaces.asked import asked_at, form_of
from gateway.surfaces.completion import Front
from gateway.surfaces.incoming import headers_of
from gateway.surfaces.operations import json_answer, refused
from router_service.arms import PLAIN
from router_service.contract import Feedback, Observations, RouterGone
from router_service.groundwork.section import Section
from router_service.learning.rewards import RELIABILITY, Source
from techniques.core.errors import Unavailable, UnknownModel

Score = Annotated[float, Field(ge=0, le=1, strict=True)]
_GONE: Final = "The router does not answer."
_SOURCES: Final[Mapping[str, Source]] = MappingProxyType(
    {"feedback": "feedback", "test": "tests", "tool": "tool_success"}
)


class FeedbackForm(Section):
    """What is said of the answer to a request: its ``score``, 0 to 1.

    ``plain_score`` is what the plain call's answer would have deserved, as far as somebody knows.
    ``source`` is who says so: a ``test`` that was run, a ``tool`` that worked or not, or anyone.
    """

    request_id: str = Field(min_length=1, max_length=256)
    score: Score
    plain_score: Score | None = None
    source: Literal["feedback", "test", "tool"] = "feedback"


@dataclass(frozen=True, slots=True)
class FeedbackEndpoint:
    """Takes what is said; who made a request, and nobody else, speaks of it."""

    front: Front
    ledger: LedgerTable | None
    admin_token: str | None

    def routes(self) -> list[Route]:
        """Return the routes."""
        gate = self.front.gate
        forget = admin.for_admin(self.admin_token, self.forget)
        return [
            Route("/v1/feedback", asked_at(gate, self.serve), methods=["POST"]),
            Route("/admin/observations", forget, methods=["DELETE"]),
        ]

    async def serve(self, request: Request) -> Response:
        """Serve one word of feedback; saying it twice changes nothing."""
        caller = await self.front.door.caller(headers_of(request.scope))
        form = await form_of(request, FeedbackForm)
        observer = self.front.observer
        kept = None if observer is None else observer.observations
        known = False
        if observer is not None and kept is not None:
            known = await self._said(form, caller, observer, kept)
            observer.said(known=known)
        if not known:
            raise UnknownModel(
                f"Nothing is known of a request {form.request_id[:64]!r} of this key that a "
                "router chose for.",
                code="request_not_found",
                param="request_id",
            )
        return json_answer({"object": "feedback", "request_id": form.request_id, "kept": True})

    async def _said(
        self, form: FeedbackForm, caller: Caller, observer: Observer, kept: Observations
    ) -> bool:
        arm = observer.arm_of(form.request_id, caller.name)
        if arm is not None:
            await observer.flush()
        elif (arm := await self._arm_of(form.request_id, caller)) is None:
            return False
        plain = form.plain_score
        if plain is None and arm == PLAIN.name:
            plain = form.score
        source = _SOURCES[form.source]
        said = Feedback(
            request_id=form.request_id,
            quality=form.score,
            plain_quality=plain,
            source=source,
            reliability=RELIABILITY[source],
        )
        try:
            return await kept.feedback(said)
        except RouterGone:
            raise Unavailable(_GONE, code="router_lost") from None

    async def _arm_of(self, request_id: str, caller: Caller) -> str | None:
        """Return what a router chose for that request of *caller*, None if there is none."""
        row = None if self.ledger is None else await self.ledger.request(request_id)
        return row.arm if row is not None and row.key == caller.name else None

    async def forget(self, request: Request) -> Response:
        """Delete what was observed of a key, also of one that is revoked."""
        key = request.query_params.get("key")
        if key is None:
            return refused("say whose: ?key=NAME", 400, "key")
        observer = self.front.observer
        try:
            gone = 0 if observer is None else await observer.forget(key)
        except (RouterGone, DatabaseLost, DatabaseUnusable):
            return refused(_GONE, 503)
        return json_answer({"forgotten": gone})
