"""A run as its owner is told of it: how it stands, its steps, what it cost, and its answer."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import orjson

from gateway.runs.events import unpacked
from gateway.stores.journal.records import StepRecord, Stored
from gateway.surfaces.spoken import DIALECTS
from gateway.wire.body import parse
from gateway.wire.dialect import Summary
from pricing.cost import dollars
from pricing.usage import Usage
from techniques.core.errors import GatewayError
from techniques.core.events import Event, Finished, Relayed
from techniques.core.json import Json, JsonObject
from techniques.core.reply import Fold


def view_of(stored: Stored, now_ms: int) -> JsonObject:
    """Return the JSON that tells of a run; it is *now_ms*, of the epoch."""
    told = brief_of(stored, now_ms)
    del told["calls"]
    return {
        **told,
        "checkpoint": stored.record.checkpoint,
        "steps": [_step(step) for step in in_order(stored.steps)],
        "answer": _answer(stored) if told["state"] == "completed" else None,
    }


def in_order(steps: Iterable[StepRecord]) -> list[StepRecord]:
    """Return *steps* as they ended, those that have not last."""
    return sorted(steps, key=lambda step: (step.seq == 0, step.seq, step.after, step.path))


def brief_of(stored: Stored, now_ms: int) -> JsonObject:
    """Return what is told of a run in a list; its own cost is without that of what it shares."""
    record, standing = stored.record, stored.standing
    state = state_of(stored)
    eta_ms = standing.eta_ms
    own = [step for step in stored.steps if step.of is None]
    return {
        "object": "run",
        "id": record.name.run,
        "state": state,
        "reason": standing.reason,
        "technique": record.technique,
        "model": record.model,
        "session": record.session,
        "parent": record.parent,
        "background": record.background,
        "created_at": datetime.fromtimestamp(record.created_ms / 1000, UTC).isoformat(),
        "eta_ms": None if eta_ms is None else max(eta_ms - now_ms, 0),
        "cost_usd": dollars(cost_of(own)),
        "cost_known": all(step.cost is not None for step in own if step.state == "completed"),
        "waste_usd": dollars(standing.waste),
        "saved_usd": dollars(standing.saved),
        "replayed": standing.replayed,
        "ambiguous": standing.ambiguous,
        "resumes": standing.resumes,
        "calls": sum(step.attempts for step in own),
    }


def state_of(stored: Stored) -> str:
    """Return how a run stands; one that nobody is at work on any more is interrupted."""
    state = stored.standing.state
    return "interrupted" if stored.is_waiting and state == "executing" else state


def _step(step: StepRecord) -> JsonObject:
    tokens = step.tokens or (None, None)
    return {
        "path": step.path,
        "key": step.key,
        "role": step.role,
        "state": step.state,
        "model": step.model,
        "provider": step.provider,
        "attempts": step.attempts,
        "input_tokens": tokens[0],
        "output_tokens": tokens[1],
        "cost_usd": None if step.cost is None else dollars(step.cost),
        "error": step.error and step.error[1],
        "shared": step.of is not None,
        "approval": step.asked,
    }


def cost_of(steps: Iterable[StepRecord]) -> int:
    """Return what *steps* cost in picodollars, as far as it is known."""
    return sum(step.cost or 0 for step in steps)


def _answer(stored: Stored) -> Json:
    """Return what the call would have been answered with; None where that cannot be told."""
    events = events_of(stored)
    relayed = b"".join(event.raw for event in events if isinstance(event, Relayed))
    if relayed:
        try:
            return orjson.loads(relayed)
        except orjson.JSONDecodeError:  # a stream, as its provider sent it
            last = events[-1]
            ending = last.raw if isinstance(last, Finished) else b""
            return (relayed + ending).decode("utf-8", "replace")
    sent = stored.record.sent
    dialect = DIALECTS.get(sent.dialect) if sent is not None else None
    if sent is None or dialect is None:
        return None
    raw = sent.raw.encode()
    folded = Fold()
    try:
        call = dialect.decode(parse(raw), raw)
        for event in events:
            folded.feed(event)
        return orjson.loads(dialect.whole(call, folded.reply(), run_summary(stored)))
    except GatewayError:
        return None


def events_of(stored: Stored) -> list[Event]:
    """Return the events of a run's answer."""
    answer = stored.standing.answer
    for step in stored.steps if answer is None else ():
        answer = step.events or answer
    return unpacked(answer or "[]")


def run_summary(stored: Stored) -> Summary:
    """Return what a run came to, as far as its journal tells."""
    done = [step for step in stored.steps if step.state == "completed"]
    counted = [step.tokens for step in done if step.tokens is not None]
    usage = Usage(sum(one[0] for one in counted), sum(one[1] for one in counted))
    known = all(step.cost is not None for step in done)
    cost_usd = dollars(cost_of(done)) if known else None
    source = "operator" if known else "unknown"
    calls = sum(step.attempts for step in done)
    name = stored.record.name.run
    return Summary(usage, calls, cost_usd, source, {"request_id": name}, request_id=name)
