"""One line of log for each request: facts, never the text of a prompt or an answer."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime

import orjson

from gateway.metering.ledger import Fact, RequestFinished


def log_requests(facts: Sequence[Fact]) -> None:
    """Write a JSON line to stderr for each of *facts* that ends a request.

    Written directly: a logging library costs more than everything else that is counted. A line is
    copied and let go: to keep many as orjson gives them costs ten times as much.
    """
    lines, now = bytearray(), datetime.now(UTC)
    for fact in facts:
        if isinstance(fact, RequestFinished):
            lines += _line(fact, now)
    sys.stderr.buffer.write(lines)
    sys.stderr.buffer.flush()


def _line(fact: RequestFinished, now: datetime) -> bytes:
    line = {
        "event": "request.finished",
        "level": "info",
        "timestamp": now,
        "request_id": fact.request_id,
        "key": fact.key,
        "dialect": fact.dialect,
        "model": fact.model,
        "technique": fact.technique,
        "streamed": fact.streamed,
        "outcome": fact.outcome,
        "status": fact.status,
        "code": fact.code,
        "calls": len(fact.rows),
        "providers": list({row.provider: None for row in fact.rows}),
        "failures": [row.outcome for row in fact.rows if row.outcome != "ok"],
        "ms": round(fact.seconds * 1000, 3),
    }
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
