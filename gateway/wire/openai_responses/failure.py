"""Words each failure as this API does: as chat completions do, but for one within a stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gateway.wire.openai_chat.failure import error_of, failure
from techniques.core.errors import FailureKind, GatewayError, KeyLimited, UpstreamFailed
from techniques.core.json import JsonObject

__all__ = ["failure", "stream_error"]

_CODES: Final[Mapping[FailureKind, str]] = {
    "rate_limited": "rate_limit_exceeded",
    "quota": "insufficient_quota",
    "context_overflow": "context_length_exceeded",
    "rejected": "invalid_prompt",
    "unknown_model": "invalid_prompt",
}
_LIMITED: Final = "rate_limit_exceeded"
_OTHERS: Final = "server_error"


def stream_error(error: GatewayError) -> JsonObject:
    """Return the ``error`` of a response that failed.

    Its ``code`` is one of the API's own, which clients know; ``type`` is ours, which says more.
    """
    said = error_of(error)["error"]
    code = _LIMITED if isinstance(error, KeyLimited) else _OTHERS
    if isinstance(error, UpstreamFailed):
        code = _CODES.get(error.kind, _OTHERS)
    return {"code": code, "message": said["message"], "type": said["code"], "param": said["param"]}
