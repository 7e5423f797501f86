"""The Prometheus metrics that OpenTelemetry's conventions for GenAI name, with their buckets.

Source: OpenTelemetry's semantic conventions, generative AI metrics.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from prometheus_client import CollectorRegistry

from gateway.metering.ledger import CallFinished, Fact, RequestFinished
from gateway.metering.meters.batch import Batch, BatchHistogram
from gateway.metering.operations import of_call, of_request

_SECONDS: Final = tuple(0.01 * 2**power for power in range(14))
_FIRST: Final = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1),
    *(0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10),
)
_EACH: Final = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5)
_TOKENS: Final = tuple(float(4**power) for power in range(14))
_CALL: Final = ("gen_ai_operation_name", "gen_ai_request_model", "gen_ai_provider_name")


class GenAIMeter:
    """Turns facts into metrics of *registry*."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def histogram(
            name: str, about: str, labels: tuple[str, ...], buckets: Sequence[float]
        ) -> Any:
            found = BatchHistogram(
                f"gen_ai_{name}", about, (*_CALL, *labels), buckets=buckets, registry=registry
            )
            return lru_cache(4096)(found.labels)

        self._duration = histogram(
            "server_request_duration_seconds",
            "From a request's arrival to the end of its answer.",
            ("technique", "error_type"),
            _SECONDS,
        )
        self._first = histogram(
            "server_time_to_first_token_seconds",
            "From a request's arrival to the first content of its answer.",
            ("technique",),
            _FIRST,
        )
        self._each = histogram(
            "server_time_per_output_token_seconds",
            "Of a streamed plain answer: the time that each token took after the first.",
            (),
            _EACH,
        )
        self._call_seconds = histogram(
            "client_operation_duration_seconds",
            "One upstream call, from sending it to the end of its answer.",
            ("error_type",),
            _SECONDS,
        )
        self._usage = histogram(
            "client_token_usage", "Tokens of one upstream call.", ("gen_ai_token_type",), _TOKENS
        )

    def __call__(self, facts: Sequence[Fact]) -> None:
        """Count *facts*: many values of a histogram at once."""
        batch = Batch()
        try:
            for fact in facts:
                match fact:
                    case CallFinished():
                        self._call(fact, batch)
                    case RequestFinished():
                        self._request(fact, batch)
                    case _:
                        pass
        finally:
            batch.observe()

    def _call(self, fact: CallFinished, batch: Batch) -> None:
        call, usage = (of_call(fact), fact.model, fact.provider), fact.usage
        failed = "" if fact.outcome == "ok" else fact.outcome
        batch.add(self._call_seconds(*call, failed), fact.seconds)
        if usage.total_tokens:
            batch.add(self._usage(*call, "input"), usage.input_tokens)
            batch.add(self._usage(*call, "output"), usage.output_tokens)

    def _request(self, fact: RequestFinished, batch: Batch) -> None:
        call, found = (of_request(fact), fact.model, fact.provider), _found_by(fact)
        failed = "" if fact.outcome == "success" else fact.outcome
        batch.add(self._duration(*call, fact.technique, failed), fact.seconds, found)
        if fact.begun_s is not None:
            batch.add(self._first(*call, fact.technique), fact.begun_s, found)
        if (each := _per_token(fact)) is not None:
            batch.add(self._each(*call), each, found)


def _per_token(fact: RequestFinished) -> float | None:
    """Return the seconds a token took after the first, of an answer that came as it was written."""
    if not fact.streamed or fact.begun_s is None or fact.technique != "none" or not fact.rows:
        return None
    tokens = fact.rows[-1].usage.output_tokens
    if fact.outcome != "success" or tokens < 2:
        return None
    return (fact.seconds - fact.begun_s) / (tokens - 1)


def _found_by(fact: RequestFinished) -> dict[str, str]:
    """Return by what a request is found: its trace, where one is written down, or its own name."""
    trace = fact.trace
    if trace is not None and trace.sampled:
        return {"trace_id": trace.trace_id}
    return {"request_id": fact.request_id}
