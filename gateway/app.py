"""The HTTP application: which path is served by what."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.keeping import Durable
from gateway.stores.database.day import DayTable
from gateway.surfaces import admin, operations, spoken
from gateway.surfaces.addresses import meant
from gateway.surfaces.approvals import ApprovalsEndpoint
from gateway.surfaces.archive import archive_routes
from gateway.surfaces.bill import BillEndpoint
from gateway.surfaces.books import Books
from gateway.surfaces.completion import CompletionEndpoint
from gateway.surfaces.count_tokens import CountTokensEndpoint
from gateway.surfaces.cross_origin import CrossOrigin
from gateway.surfaces.feedback import FeedbackEndpoint
from gateway.surfaces.fitting import FitEndpoint
from gateway.surfaces.forecast import ForecastEndpoint
from gateway.surfaces.gate import Gate
from gateway.surfaces.incoming import headers_of
from gateway.surfaces.ledger import LedgerEndpoint
from gateway.surfaces.models import ModelsEndpoint
from gateway.surfaces.ollama import OllamaEndpoint
from gateway.surfaces.overview.access import Access
from gateway.surfaces.overview.day import Day
from gateway.surfaces.overview.endpoint import OverviewEndpoint, Sources
from gateway.surfaces.reload import Reloads, reload_routes
from gateway.surfaces.responses import response_routes
from gateway.surfaces.runs import run_routes
from gateway.surfaces.ticks import ticks
from gateway.surfaces.tools import ToolsEndpoint
from gateway.surfaces.windows import WindowsEndpoint
from gateway.ui.pages import page_routes
from gateway.wire.dialect import Dialect
from gateway.wiring import Parts
from router_service.groundwork.watched import watched
from techniques.core.errors import RequestRejected

CHAT: Final[Dialect] = spoken.CHAT
MESSAGES: Final[Dialect] = spoken.MESSAGES
RESPONSES: Final[Dialect] = spoken.RESPONSES
DIALECTS: Final[Mapping[str, Dialect]] = {
    "/v1/chat/completions": CHAT,
    "/v1/messages": MESSAGES,
    "/v1/responses": RESPONSES,
    "/api/chat": spoken.OLLAMA,
    "/api/generate": spoken.OLLAMA_GENERATE,
    "/api/embed": spoken.OLLAMA_EMBED,
    "/api/embeddings": spoken.OLLAMA_EMBEDDINGS,
    "/v1/embeddings": spoken.EMBEDDINGS,
    "/v1/completions": spoken.COMPLETIONS,
}
"""The dialect that is spoken at each path that a model answers."""


@dataclass(frozen=True, slots=True)
class _Site:
    """What is at each path, by one configuration. Who came to one is served by it to the end."""

    completions: Mapping[str, ASGIApp]
    others: ASGIApp

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        served = self.completions.get(scope["path"])
        if served is None and (path := meant(scope["path"])) != scope["path"]:
            scope = {**scope, "path": path, "raw_path": path.encode()}
            served = self.completions.get(path)
        if served is not None and scope.get("method") == "POST":
            await served(scope, receive, send)
        elif "\0" in scope["path"] or b"%00" in scope["query_string"]:
            await _no_address(scope)(scope, receive, send)
        else:
            await self.others(scope, receive, send)


class App:
    """The application. *opened* gives its parts for as long as it runs; ``gate`` is one of them.

    Without *reloads* they stay the same.
    """

    def __init__(
        self,
        opened: Callable[[], AbstractAsyncContextManager[Parts]],
        reloads: Reloads | None = None,
    ) -> None:
        self._opened = opened
        self._reloads = reloads
        self.gate: Gate | None = None
        self._served: ASGIApp | None = None
        self._lifespan = Starlette(lifespan=self._running)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the lifespan of the process."""
        if scope["type"] == "lifespan":
            await self._lifespan(scope, receive, send)
            return
        assert self._served is not None
        await self._served(scope, receive, send)

    def show(self, parts: Parts) -> None:
        """Serve who comes from now on with *parts*."""
        completions = {
            path: CompletionEndpoint(dialect, parts.front) for path, dialect in DIALECTS.items()
        }
        served = _Site(completions, _others(parts, self._reloads)).serve
        origins = parts.config.server.cors.origins
        self._served = CrossOrigin(served, origins) if origins else served

    @asynccontextmanager
    async def _running(self, app: Starlette) -> AsyncGenerator[None, None]:
        del app
        async with watched(self._opened()) as parts:
            self.gate = gate = parts.front.gate
            self.show(parts)
            try:
                yield
            finally:  # told to or not: what is being closed now serves nobody
                gate.closing = True


def _no_address(scope: Scope) -> Response:
    """Refuse a NUL, which some databases take for no text, before it gets to any."""
    error = RequestRejected("There is a NUL in the address, and nothing is called so.")
    return spoken.failed(error, spoken.dialect_of(headers_of(scope)))


def _others(parts: Parts, reloads: Reloads | None) -> Starlette:
    models = ModelsEndpoint(parts.catalogue, parts.front, (CHAT, MESSAGES))
    forecast = ForecastEndpoint(parts.forecaster, parts.front)
    windows = WindowsEndpoint(parts.catalogue, parts.front, parts.admin_token)
    count = CountTokensEndpoint(parts.front, MESSAGES)
    inputs = CountTokensEndpoint(parts.front, RESPONSES)
    metrics = operations.MetricsEndpoint(parts.spool, parts.collect, parts.metrics_token)
    books = Books(parts.spool, parts.rows, parts.durable)
    ledger, bill = LedgerEndpoint(books), BillEndpoint(books)
    register = parts.durable.register if parts.durable else None
    accounts = (it.account for model in parts.catalogue.all() for it in (model, *model.others))
    seen = Sources(
        Day(_day_of(parts.durable), parts.rows, register), parts.spool, parts.lost, accounts
    )
    overview = OverviewEndpoint(parts.front, Access(parts.front.door, parts.admin_token), seen)
    tools = ToolsEndpoint(parts.front, parts.front.pipeline.tools, parts.counts.acquired)
    feedback = FeedbackEndpoint(
        parts.front, parts.durable.ledger if parts.durable else None, parts.admin_token
    )
    unknown = partial(operations.unknown_path, DIALECTS)
    return Starlette(
        routes=[
            Route("/v1/messages/count_tokens", count.serve, methods=["POST"]),
            Route("/v1/responses/input_tokens", inputs.serve, methods=["POST"]),
            Route("/v1/forecast", forecast.serve, methods=["POST"]),
            Route("/v1/windows", windows.serve),
            Route("/v1/models", models.all),
            Route("/v1/models/{name:path}", models.one),
            *OllamaEndpoint(parts.catalogue, parts.front).routes(),
            *tools.routes(),
            *feedback.routes(),
            *ApprovalsEndpoint(parts.front, parts.board).routes(),
            Route("/healthz", operations.healthz),
            Route("/readyz", operations.ReadyEndpoint(parts.front.gate, parts.lost).serve),
            Route("/metrics", metrics.serve),
            *overview.routes(),
            *page_routes(),
            Route("/admin/ledger", admin.for_admin(parts.admin_token, ledger.serve)),
            Route("/admin/bill", admin.for_admin(parts.admin_token, bill.serve)),
            *archive_routes(parts.front, parts.admin_token),
            *run_routes(parts.front.door, parts.front.behind),
            *response_routes(parts.front, parts.admin_token),
            *admin.routes(register, parts.admin_token),
            *FitEndpoint(parts.fitter, parts.admin_token).routes(),
            *reload_routes(reloads, parts.admin_token),
            Route("/admin/ticks", admin.for_admin(parts.admin_token, ticks)),
        ],
        exception_handlers={404: unknown, 405: unknown},
    )


def _day_of(durable: Durable | None) -> DayTable | None:
    return None if durable is None else DayTable(durable.database)
