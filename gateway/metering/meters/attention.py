"""Prometheus metrics of what agents take of tools and of people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from gateway.metering.ledger import Fact, ToolCalled

_SECONDS: Final = (1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400)
_OUTCOMES: Final = ("counted", "over")


class AttentionCounts:
    """Counts in *registry*; *tools* are those that have quotas, by their names."""

    def __init__(self, registry: CollectorRegistry, tools: Iterable[str]) -> None:
        self._tools = Counter(
            "lockgate_tool_calls",
            "Calls of tools with quotas: seen in answers, or acquired beforehand.",
            ("tool", "by", "outcome"),
            registry=registry,
        )
        self._approvals = Counter(
            "lockgate_approvals",
            "Questions to people, when they come and when they end.",
            ("kind", "state"),
            registry=registry,
        )
        self._seconds = Histogram(
            "lockgate_approval_seconds",
            "From a question to its decision.",
            ("kind",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._asks = Counter(
            "lockgate_asks",
            "How often a person was asked; several questions at once are a digest.",
            ("form",),
            registry=registry,
        )
        self._waiting = Gauge(
            "lockgate_asks_waiting",
            "Questions that wait to be asked.",
            registry=registry,
            multiprocess_mode="livemax",
        )
        self._hooks = Counter(
            "lockgate_webhook_attempts",
            "Attempts to tell a person's webhook of what is asked.",
            ("outcome",),
            registry=registry,
        )
        for tool in tools:  # a rate needs the zero before the first
            for outcome in _OUTCOMES:
                self._tools.labels(tool, "seen", outcome)

    def __call__(self, facts: Sequence[Fact]) -> None:
        """Count the calls of tools among *facts*."""
        for fact in facts:
            if isinstance(fact, ToolCalled):
                self._tools.labels(fact.tool, "seen", fact.outcome).inc()

    def acquired(self, tool: str, outcome: str) -> None:
        """Count a use of *tool* that was asked for: ``granted`` or ``refused``."""
        self._tools.labels(tool, "acquired", outcome).inc()

    def approval(self, kind: str, state: str, seconds: float | None = None) -> None:
        """Count a question that came or ended; *seconds* after it came, if it was decided."""
        self._approvals.labels(kind, state).inc()
        if seconds is not None:
            self._seconds.labels(kind).observe(seconds)

    def asked(self, questions: int) -> None:
        """Count one ask, of so many *questions*."""
        self._asks.labels("single" if questions == 1 else "digest").inc()

    def waiting(self, questions: int) -> None:
        """Show how many *questions* wait to be asked."""
        self._waiting.set(questions)

    def hook(self, outcome: str) -> None:
        """Count an attempt: ``delivered``, ``failed`` or ``given_up``."""
        self._hooks.labels(outcome).inc()
