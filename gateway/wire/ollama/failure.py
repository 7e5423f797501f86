"""Words each failure as this API does: a text. Its status is that of chat completions."""

from __future__ import annotations

import orjson

from gateway.wire.dialect import Failure
from gateway.wire.openai_chat import failure as chat
from techniques.core.errors import GatewayError, UnknownModel
from techniques.core.json import JsonObject


def failure(error: GatewayError) -> Failure:
    """Return the response that tells a client of *error*."""
    told = chat.failure(error)
    return Failure(told.status, orjson.dumps(error_of(error)), told.headers)


def error_of(error: GatewayError) -> JsonObject:
    """Return the error object of *error*."""
    if isinstance(error, UnknownModel) and error.name:
        return {"error": f"model '{error.name}' not found"}  # clients look for these words
    return {"error": chat.error_of(error)["error"]["message"]}
