"""Prometheus metrics of the configuration: which one is served, and how reloads went."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Gauge

Outcome: TypeAlias = Literal["applied", "unchanged", "refused"]
_OUTCOMES: Final[tuple[Outcome, ...]] = ("applied", "unchanged", "refused")
_DIGITS: Final = 12
"""Of a hash so many hex digits are shown: a float holds them exactly."""


class ReloadMeter:
    """Shows in *registry* which configuration is served. Replicas that differ show other hashes."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def gauge(name: str, about: str, mode: Literal["livemin", "livemostrecent"]) -> Gauge:
            return Gauge(f"lockgate_{name}", about, registry=registry, multiprocess_mode=mode)

        self._reloads = Counter(
            "lockgate_config_reloads",
            "Reloads of the configuration that were asked for, by how they ended.",
            ("outcome",),
            registry=registry,
        )
        self._hash = gauge(
            "config_hash", "A hash of the configuration that is served.", "livemostrecent"
        )
        self._epoch = gauge(
            "config_epoch", "How many configurations have been served since the start.", "livemin"
        )
        self._good = gauge(
            "config_last_reload_successful",
            "1 if the last reload was not refused, or there was none.",
            "livemin",
        )
        self._at = gauge(
            "config_loaded_timestamp_seconds",
            "When the configuration that is served was loaded.",
            "livemin",
        )
        for outcome in _OUTCOMES:
            self._reloads.labels(outcome)
        self._good.set(1)

    def serves(self, epoch: int, digest: str, at: float) -> None:
        """Show which configuration is served: the *epoch*-th, of that *digest*, loaded *at*."""
        self._epoch.set(epoch)
        self._hash.set(int(digest[:_DIGITS], 16))
        self._at.set(at)

    def reloaded(self, outcome: Outcome) -> None:
        """Count a reload."""
        self._reloads.labels(outcome).inc()
        self._good.set(outcome != "refused")
