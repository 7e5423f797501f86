"""Requests and their sub-calls as spans, in the JSON that OTLP says them in. Never any text.

Source: OpenTelemetry Protocol 1.x, JSON encoding; OpenTelemetry's semantic conventions for GenAI.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gateway.metering.ledger import CallFinished, RequestFinished
from gateway.metering.operations import of_call, of_request
from gateway.metering.trace import Trace
from pricing.cost import dollars
from techniques.core.json import Json, JsonObject

_SERVER, _CLIENT = 2, 3
_OK, _FAILED = 1, 2


def spans_of(fact: RequestFinished) -> list[JsonObject]:
    """Return the span of a request and those of its calls; none where no trace is written down."""
    trace = fact.trace
    if trace is None or not trace.sampled:
        return []
    return [_request(fact, trace), *(_call(row, trace) for row in fact.rows if row.span)]


def batch(spans: Sequence[JsonObject], resource: JsonObject) -> JsonObject:
    """Return the message that carries *spans*; *resource* says who sends it."""
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes(resource)},
                "scopeSpans": [{"scope": {"name": "lockgate"}, "spans": list(spans)}],
            }
        ]
    }


def _request(fact: RequestFinished, trace: Trace) -> JsonObject:
    costs = [row.cost for row in fact.rows]
    known = [cost for cost in costs if cost is not None]
    told: JsonObject = {
        "gen_ai.operation.name": of_request(fact),
        "gen_ai.provider.name": fact.provider or None,
        "gen_ai.request.model": fact.model or None,
        "http.response.status_code": fact.status,
        "lockgate.request_id": fact.request_id,
        "lockgate.run": fact.run,
        "lockgate.session": fact.session,
        "lockgate.tags": fact.tags,
        "lockgate.key": fact.key,
        "lockgate.team": fact.team,
        "lockgate.dialect": fact.dialect,
        "lockgate.technique": fact.technique,
        "lockgate.route": fact.route,
        "lockgate.streamed": fact.streamed,
        "lockgate.outcome": fact.outcome,
        "lockgate.calls": len(fact.rows),
        "lockgate.cost_usd": _usd(sum(known) if len(known) == len(costs) else None),
        "lockgate.warnings": sorted({warned.code for warned in fact.warnings}) or None,
        "lockgate.first_ms": _ms(fact.begun_s),
        "error.type": None if fact.outcome == "success" else fact.code or fact.outcome,
    }
    frame = _Frame(trace.span_id, trace.parent, _SERVER, trace.at, fact.seconds)
    return _span(trace.trace_id, frame, told)


def _call(row: CallFinished, trace: Trace) -> JsonObject:
    usage = row.usage
    told: JsonObject = {
        "gen_ai.operation.name": of_call(row),
        "gen_ai.provider.name": row.provider,
        "gen_ai.request.model": row.model,
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "lockgate.tokens.cache_read": usage.cache_read_tokens or None,
        "lockgate.tokens.reasoning": usage.reasoning_tokens or None,
        "lockgate.tokens.estimated": row.estimated,
        "lockgate.role": row.role,
        "lockgate.step": row.step,
        "lockgate.verdict": "hold" if row.held_s else "go",
        "lockgate.held_ms": _ms(row.held_s) if row.held_s else None,
        "lockgate.cost_usd": _usd(row.cost),
        "lockgate.cost_source": row.cost_source,
        "lockgate.outcome": row.outcome,
        "lockgate.first_ms": _ms(row.first_s),
        "error.type": None if row.outcome == "ok" else row.outcome,
    }
    assert row.span is not None
    frame = _Frame(row.span, trace.span_id, _CLIENT, row.started_at, row.seconds)
    return _span(trace.trace_id, frame, told)


class _Frame(NamedTuple):
    """What every span has: its own id and that of the one it is part of, and its time."""

    own: str
    parent: str | None
    kind: int
    at: float
    seconds: float


def _span(trace_id: str, frame: _Frame, told: JsonObject) -> JsonObject:
    failed, model = told["error.type"], told["gen_ai.request.model"] or ""
    return {
        "traceId": trace_id,
        "spanId": frame.own,
        "parentSpanId": frame.parent or "",
        "name": f"{told['gen_ai.operation.name']} {model}".rstrip(),
        "kind": frame.kind,
        "startTimeUnixNano": _nanoseconds(frame.at),
        "endTimeUnixNano": _nanoseconds(frame.at + frame.seconds),
        "attributes": _attributes(told),
        "status": {"code": _FAILED, "message": failed} if failed else {"code": _OK},
    }


def _attributes(told: JsonObject) -> list[Json]:
    """Return what is *told*, without what is None."""
    return [{"key": name, "value": value} for name, said in told.items() for value in _value(said)]


def _value(said: Json) -> Iterator[JsonObject]:
    match said:
        case None:
            return
        case bool():
            yield {"boolValue": said}
        case int():
            yield {"intValue": str(said)}
        case float():
            yield {"doubleValue": said}
        case list():
            yield {"arrayValue": {"values": [one for item in said for one in _value(item)]}}
        case _:
            yield {"stringValue": str(said)}


def _nanoseconds(at: float) -> str:
    """Return an instant as OTLP has it; clocks and floats know microseconds of it."""
    return f"{round(at * 1_000_000)}000"


def _usd(cost: int | None) -> float | None:
    return None if cost is None else float(dollars(cost))


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 3)
