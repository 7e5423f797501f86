"""Writes the call that asks for embeddings: the client's own body, with what must differ."""

from __future__ import annotations

import orjson

from gateway.upstream.embeddings.vectors import Form
from gateway.upstream.provider import HttpCall, Target
from techniques.core.json import JsonObject
from techniques.core.request import Relay

_PATH = "/embeddings"
_FORM = "encoding_format"


def encode(relay: Relay, target: Target) -> HttpCall:
    """Return the call that asks *target* for what *relay* says."""
    body = relay.body
    changes: JsonObject = {}
    if body.get("model") != target.model:
        changes["model"] = target.model
    if body.get(_FORM) is not None and not target.capabilities.base64:
        changes[_FORM] = None
    raw = relay.raw if not changes else None
    changed = {name: value for name, value in {**body, **changes}.items() if value is not None}
    headers = {"content-type": "application/json"}
    return HttpCall(_PATH, raw or orjson.dumps(changed), headers)


def form_of(relay: Relay) -> Form:
    """Return how *relay* wants its vectors to be written."""
    return "base64" if relay.body.get(_FORM) == "base64" else "float"
