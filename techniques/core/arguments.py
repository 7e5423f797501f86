"""What a model wrote as the arguments of a call, for APIs that want an object there."""

from __future__ import annotations

import orjson

from techniques.core.json import Json, JsonObject

_DEEP = 200  # orjson reads what is nested deeper than it can write, about 250


def arguments_object(text: str) -> JsonObject:
    """Return a call's arguments as an object, which they must be in Anthropic's and Ollama's APIs.

    The model may have written something else. It is kept under ``INVALID_JSON``, as Anthropic's
    documentation suggests for handing such text back: a client can then show or repair it, while
    an empty object would look like a call without parameters.
    """
    if not text.strip():
        return {}
    try:
        value: Json = orjson.loads(text)
        if text.count("[") + text.count("{") > _DEEP:
            orjson.dumps(value)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        value = None
    return value if isinstance(value, dict) else {"INVALID_JSON": text}
