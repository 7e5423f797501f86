"""Prometheus metrics of servers of one's own: their slots, and what is kept of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS: Final = (0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30)


class LocalMeter:
    """Shows the servers *providers* in metrics of *registry*; of a gateway without any, nothing."""

    def __init__(self, registry: CollectorRegistry, providers: Iterable[str]) -> None:
        self._moves = Counter(
            "lockgate_kv_moves",
            "Contents of slots that were to be saved or restored, by what became of it.",
            ("provider", "what", "outcome"),
            registry=registry,
        )
        self._seconds = Histogram(
            "lockgate_kv_seconds",
            "How long the server took to save or restore a slot.",
            ("provider", "what"),
            buckets=_SECONDS,
            registry=registry,
        )
        self._spared = Counter(
            "lockgate_prompt_tokens_spared",
            "Tokens of prompts that a slot still held.",
            ("provider",),
            registry=registry,
        )
        self._slots = Gauge(
            "lockgate_slots",
            "Slots of a server, by whether they compute.",
            ("provider", "state"),
            registry=registry,
            multiprocess_mode="livemax",
        )
        self._left = Gauge(
            "lockgate_local_tokens_left",
            "Tokens that still fit into the fullest slot, or into the card's memory.",
            ("provider",),
            registry=registry,
            multiprocess_mode="livemin",
        )
        for provider in providers:
            self._spared.labels(provider)
            self._moves.labels(provider, "save", "saved")
            self._moves.labels(provider, "restore", "restored")

    def moved(self, provider: str, what: str, outcome: str) -> None:
        """Count contents that were to be moved."""
        self._moves.labels(provider, what, outcome).inc()

    def took(self, provider: str, what: str, seconds: float) -> None:
        """Show how long that took."""
        self._seconds.labels(provider, what).observe(seconds)

    def spared(self, provider: str, tokens: int) -> None:
        """Count tokens that had not to be computed."""
        self._spared.labels(provider).inc(tokens)

    def stands(self, provider: str, busy: int, idle: int, left: int | None) -> None:
        """Show how a server stands."""
        self._slots.labels(provider, "busy").set(busy)
        self._slots.labels(provider, "idle").set(idle)
        if left is not None:
            self._left.labels(provider).set(left)
