"""The router's own process over HTTP: the same engine that decides in the gateway's process."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import SystemRandom  # noqa: TID251 - who tries something out throws true dice
from time import monotonic
from typing import Any, Final

from fastapi import FastAPI
from prometheus_client.exposition import choose_encoder
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from router_service.contract import Feedback, NoExactProfile, RouteDecision, RouteQuery
from router_service.drifting import watching
from router_service.engine import Engine
from router_service.fitting.fitter import LONGEST_NAME, Busy, FitForm, Fitter
from router_service.groundwork.database import DatabaseLost, opened
from router_service.groundwork.watched import watched
from router_service.learning.explorer import Explorer
from router_service.learning.settings import LearningSettings
from router_service.process import agentcodec
from router_service.process.access import Access
from router_service.process.config import ProcessSettings
from router_service.process.counts import Counted, Counts
from router_service.process.earned import Earned
from router_service.process.replies import (
    Refused,
    body_of,
    error_reply,
    json_reply,
    model_reply,
    read_as,
)
from router_service.process.transfer import Export, Import
from router_service.store.fits import FitTable
from router_service.store.learner import Learner
from router_service.store.observations import ObservationTable
from router_service.store.pages import Profile
from router_service.store.served import Served
from router_service.store.steps import STEPS
from techniques.core.groups import task_group

_LONGEST_CALLER: Final = 500
_FIRST: Final = (
    b'{"model": "", "offers": [{"arm": "none"}, {"arm": "self_consistency/5", "cost": 4.0}],'
    b' "vector": {"encoder": "", "values": [1.0]}, "explore": false}'
)


@dataclass(frozen=True, slots=True)
class Parts:
    """What answers."""

    settings: ProcessSettings
    engine: Engine
    table: ObservationTable
    learner: Learner
    counts: Counts
    fitter: Fitter
    explorer: Explorer | None = None


@asynccontextmanager
async def running(settings: ProcessSettings, counts: Counts) -> AsyncGenerator[Parts, None]:
    """Open the database, and learn what is in it for as long as this is open.

    Raises:
        DatabaseUnusable: It cannot be opened.
    """
    explorer = _explorer(settings.router.learning)
    engine = Engine(settings.router, explore=explorer)
    counts.drifts.set_function(lambda: len(engine.drifts))
    _warm(engine)
    async with opened(settings.database.url, STEPS, pool=settings.database.pool) as database:
        table = ObservationTable(database, settings.router.store.keys)
        served = Served(FitTable(database, settings.router.type), engine, settings.router)
        learner = Learner(table, engine, counts, served)
        fitter = Fitter(settings.router, table, served, learner)
        every_s, ttl_days = settings.database.refresh_s, settings.router.learning.ttl_days
        async with task_group() as group:
            group.start_soon(learner.run, every_s, ttl_days)
            group.start_soon(watching, lambda: engine.drifts)
            group.start_soon(fitter.run)
            yield Parts(settings, engine, table, learner, counts, fitter, explorer)
            group.cancel_scope.cancel()


def _warm(engine: Engine) -> None:
    """Decide once: the first decision takes longer than a gateway waits for one."""
    query = read_as(RouteQuery, _FIRST)
    model_reply(engine.decide(query))


def _explorer(stated: LearningSettings) -> Explorer | None:
    """Return what tries arms out, None where nothing is to be learnt."""
    if not stated.enabled:
        return None
    return Explorer(stated.exploration, monotonic, SystemRandom().random)


class Endpoints:
    """What is answered at each path."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._most = parts.settings.server.max_body
        self._earned = Earned(parts.explorer)

    async def route(self, request: Request) -> Response:
        """``POST /v1/route``: decide."""
        query = read_as(RouteQuery, await body_of(request, self._most))
        return model_reply(self._decide(query))

    async def agentcodec(self, request: Request) -> Response:
        """``POST /route``: decide for a client of AgentCodec."""
        asked = read_as(agentcodec.Asked, await body_of(request, self._most))
        query = agentcodec.query_of(asked, self._parts.settings.agentcodec)
        return json_reply(agentcodec.told(self._decide(query)))

    def _decide(self, query: RouteQuery) -> RouteDecision:
        try:
            decision = self._parts.engine.decide(query)
        except NoExactProfile:
            if self._parts.learner.loaded:
                raise
            raise Refused(503, "loading", "What was learnt before is still being read.") from None
        self._parts.counts.decided(decision)
        return decision

    async def meta(self) -> Response:
        """``GET /meta``: what a client of AgentCodec wants to know first."""
        neighbours = self._parts.settings.router.semknn.neighbours
        return json_reply(agentcodec.meta(self._parts.settings.agentcodec, neighbours))

    async def feedback(self, request: Request) -> Response:
        """``POST /v1/feedback``: write down what somebody says of an answer."""
        said = read_as(Feedback, await body_of(request, self._most))
        if not await self._parts.table.feedback(said):
            return error_reply(404, "unknown_request", "Nothing is known of that request.")
        return json_reply({"known": True})

    async def take(self, request: Request) -> Response:
        """``POST /v1/observations``: keep what was observed."""
        coming = Import(self._parts.table, self._parts.settings.server.max_import, self._earned)
        try:
            await coming.take(request)
        except Refused as error:
            self._parts.counts.observed.labels("refused").inc()
            return coming.refused(error)
        finally:
            self._parts.counts.observed.labels("kept").inc(coming.observed)
        return json_reply({"observed": coming.observed})

    async def give(self, request: Request) -> Response:
        """``GET /v1/observations``: all that there is."""
        return Export(self._parts.table, request)

    async def forget(self, request: Request) -> Response:
        """``DELETE /v1/observations?caller=``: forget what was observed of a key, here at once."""
        asked = request.query_params.multi_items()
        caller = asked[0][1] if len(asked) == 1 and asked[0][0] == "caller" else ""
        if not caller or len(caller) > _LONGEST_CALLER or "\0" in caller:
            return error_reply(400, "invalid_field", "Say whose: ?caller=NAME", "caller")
        gone = await self._parts.table.forget(caller)
        await self._parts.learner.refresh()
        return json_reply({"forgotten": gone})

    async def profiles(self) -> Response:
        """``GET /v1/profiles``: of which models something was observed."""
        found = await self._parts.table.profiles()
        return json_reply({"profiles": list(map(_profile, found))})

    async def fit(self, request: Request) -> Response:
        """``POST /v1/fit``: find out anew what to decide by, and serve it if it is no worse."""
        raw = await body_of(request, self._most)
        asked = read_as(FitForm, raw) if raw.strip() else FitForm()
        try:
            return json_reply(await self._parts.fitter.fit(asked))
        except Busy as error:
            return error_reply(409, "fit_running", str(error))

    async def fitted(self) -> Response:
        """``GET /v1/fit``: what was found by fits is served."""
        return json_reply(await self._parts.fitter.told())

    async def unfit(self, request: Request) -> Response:
        """``DELETE /v1/fit?by=``: serve what was served before."""
        by = request.query_params.get("by", "")
        if len(by) > LONGEST_NAME or "\0" in by:
            return error_reply(400, "invalid_field", "Say who: ?by=NAME", "by")
        told = await self._parts.fitter.withdraw(by)
        if told is None:
            return error_reply(404, "nothing_to_withdraw", "No fit is served.")
        return json_reply(told)

    async def healthz(self) -> Response:
        """``GET /healthz``: the process lives."""
        return json_reply({"status": "ok"})

    async def readyz(self) -> Response:
        """``GET /readyz``: whether decisions are made by what was learnt before."""
        learner = self._parts.learner
        if not learner.loaded:
            return json_reply({"status": "lost" if learner.lost else "loading"}, 503)
        if learner.lost:
            return json_reply({"status": "degraded", "lost": ["database"]})
        return json_reply({"status": "ready"})

    async def metrics(self, request: Request) -> Response:
        """``GET /metrics``: for Prometheus."""
        encoder, kind = choose_encoder(request.headers.get("accept", ""))
        return Response(encoder(self._parts.counts.registry), media_type=kind)


def _profile(profile: Profile) -> dict[str, Any]:
    return {
        "model": profile.model,
        "pool": [spec.model_dump(exclude_defaults=True) for spec in profile.pool],
        "encoder": profile.encoder,
        "arms": {
            name: {"rows": it.rows, "judged": it.judged, "at": it.at}
            for name, it in profile.arms.items()
        },
    }


def application(settings: ProcessSettings) -> ASGIApp:
    """Return the application; what it needs is open for as long as it runs."""
    counts = Counts()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
        async with watched(running(settings, counts)) as parts:
            _serve(app, Endpoints(parts))
            yield

    handlers: dict[Any, Any] = {
        Refused: _refused,
        NoExactProfile: _no_profile,
        DatabaseLost: _lost,
        HTTPException: _unknown,
        Exception: _failed,
    }
    app = FastAPI(openapi_url=None, lifespan=lifespan, exception_handlers=handlers)
    return Counted(Access(app, settings.server), counts)


def _serve(app: FastAPI, at: Endpoints) -> None:
    """Say what is at each path; a test holds them against the paths that are counted."""
    for method, path, endpoint in (
        ("POST", "/v1/route", at.route),
        ("POST", "/v1/feedback", at.feedback),
        ("POST", "/v1/observations", at.take),
        ("GET", "/v1/observations", at.give),
        ("DELETE", "/v1/observations", at.forget),
        ("GET", "/v1/profiles", at.profiles),
        ("POST", "/v1/fit", at.fit),
        ("GET", "/v1/fit", at.fitted),
        ("DELETE", "/v1/fit", at.unfit),
        ("POST", "/route", at.agentcodec),
        ("GET", "/meta", at.meta),
        ("GET", "/healthz", at.healthz),
        ("GET", "/readyz", at.readyz),
        ("GET", "/metrics", at.metrics),
    ):
        app.add_api_route(path, endpoint, methods=[method], response_model=None)


async def _refused(request: Request, error: Refused) -> Response:
    del request
    return error.reply


async def _no_profile(request: Request, error: NoExactProfile) -> Response:
    del request
    return json_reply(agentcodec.refusal(error), 409)


async def _lost(request: Request, error: DatabaseLost) -> Response:
    del request
    return error_reply(503, "database_lost", f"The database does not answer: {error}")


async def _unknown(request: Request, error: HTTPException) -> Response:
    message = f"There is no {request.method} {request.url.path[:128]} here."
    return error_reply(error.status_code, "unknown_path", message)


async def _failed(request: Request, error: Exception) -> Response:
    del request, error  # the server logs it
    return error_reply(500, "failed", "The router failed; its log says how.")
