"""What Prometheus is told. Labels are paths, statuses and words of our own: never a caller's."""

from __future__ import annotations

from time import perf_counter
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from router_service.contract import RouteDecision

PATHS: Final = frozenset(
    {
        "/v1/route",
        "/v1/feedback",
        "/v1/observations",
        "/v1/profiles",
        "/v1/fit",
        "/route",
        "/meta",
        "/healthz",
        "/readyz",
        "/metrics",
    }
)
_SECONDS: Final = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5, 30)


class Counts:
    """What a process counts."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "lockgate_routing_requests",
            "Requests to the router's own process.",
            ("path", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "lockgate_routing_seconds",
            "How long they took.",
            ("path",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.decisions = Counter(
            "lockgate_routing_decisions",
            "Decisions: by which router, how well what it has learnt fits, whether it explored.",
            ("router", "match", "explored"),
            registry=self.registry,
        )
        self.observed = Counter(
            "lockgate_routing_observations",
            "Observations that were kept, and imports of which a line was refused.",
            ("result",),
            registry=self.registry,
        )
        self.learnt = Gauge(
            "lockgate_routing_rows_learnt",
            "Observations that were read since the process began, or anew since some were deleted.",
            registry=self.registry,
        )
        self.fit_seconds = Histogram(
            "lockgate_routing_fit_seconds",
            "How long it took to learn what was new.",
            registry=self.registry,
        )
        self.refreshes = Counter(
            "lockgate_routing_refreshes",
            "How often it was looked for something new, by how that ended.",
            ("result",),
            registry=self.registry,
        )
        self.drifts = Gauge(
            "lockgate_routing_drifts",
            "Models whose plain answers are not what they were, counted for each who says so.",
            registry=self.registry,
        )

    def refreshed(self, *, done: bool) -> None:
        """Count that it was looked for something new."""
        self.refreshes.labels("done" if done else "failed").inc()

    def fitted(self, seconds: float, rows: int) -> None:
        """Count that what was new was learnt, and show how many *rows* are."""
        self.fit_seconds.observe(seconds)
        self.learnt.set(rows)

    def decided(self, decision: RouteDecision) -> None:
        """Count *decision*."""
        explored = "yes" if decision.explored else "no"
        self.decisions.labels(decision.router, decision.match, explored).inc()


class Counted:
    """Counts the requests to *app*."""

    def __init__(self, app: ASGIApp, counts: Counts) -> None:
        self._app = app
        self._counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, and count it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"] if scope["path"] in PATHS else "other"
        began, status = perf_counter(), 0

        async def told(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, told)
        finally:
            self._counts.requests.labels(path, status or "none").inc()
            self._counts.seconds.labels(path).observe(perf_counter() - began)
