"""One line of log for each request: facts, never the text of a prompt or an answer."""

from __future__ import annotations

import structlog

from gateway.metering.ledger import Fact, RequestFinished

_log = structlog.get_logger()


def log_request(fact: Fact) -> None:
    """Log *fact* if it ends a request."""
    if not isinstance(fact, RequestFinished):
        return
    _log.info(
        "request.finished",
        request_id=fact.request_id,
        key=fact.key,
        dialect=fact.dialect,
        model=fact.model,
        technique=fact.technique,
        streamed=fact.streamed,
        outcome=fact.outcome,
        status=fact.status,
        calls=len(fact.rows),
        failures=[row.outcome for row in fact.rows if row.outcome != "ok"],
        ms=round(fact.seconds * 1000, 1),
    )
