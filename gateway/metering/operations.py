"""What OpenTelemetry calls what was asked for.

Source: OpenTelemetry's semantic conventions for generative AI, ``gen_ai.operation.name``.
"""

from __future__ import annotations

from typing import Final

from gateway.metering.ledger import CallFinished, RequestFinished
from techniques.core.relayed import COMPLETIONS, EMBEDDING, EMBEDDINGS

CHAT: Final = "chat"
_OF_CALLS: Final = {"count": "count_tokens", EMBEDDING: "embeddings"}
_OF_REQUESTS: Final = {EMBEDDINGS: "embeddings", COMPLETIONS: "text_completion"}


def of_call(row: CallFinished) -> str:
    """Return the operation that a sub-call was."""
    return _OF_CALLS.get(row.role, CHAT)


def of_request(fact: RequestFinished) -> str:
    """Return the operation that a request asked for: by its path, or by what was called for it."""
    if fact.rows and fact.rows[0].role == EMBEDDING:
        return of_call(fact.rows[0])
    return _OF_REQUESTS.get(fact.dialect, CHAT)
