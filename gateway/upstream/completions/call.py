"""Writes the call: the client's own body, with what must differ."""

from __future__ import annotations

import orjson

from gateway.upstream.embeddings.batches import count_of
from gateway.upstream.openai.payload import as_object
from gateway.upstream.provider import HttpCall, Target
from techniques.core.json import JsonObject
from techniques.core.request import Relay

_PATH = "/completions"


def encode(relay: Relay, target: Target) -> HttpCall:
    """Return the call that asks *target* for what *relay* says; of a stream its usage, too."""
    body = relay.body
    changes: JsonObject = {}
    if body.get("model") != target.model:
        changes["model"] = target.model
    options = as_object(body.get("stream_options"))
    if body.get("stream") and target.capabilities.stream_usage:
        if options.get("include_usage") is not True:
            changes["stream_options"] = {**options, "include_usage": True}
    elif options:
        changes["stream_options"] = None
    raw = None if changes else relay.raw
    changed = {k: v for k, v in {**body, **changes}.items() if v is not None or k not in changes}
    return HttpCall(_PATH, raw or orjson.dumps(changed), {"content-type": "application/json"})


def choices_of(body: JsonObject) -> int:
    """Return how many texts *body* asks for: ``n`` for each of its prompts."""
    n, prompt = body.get("n"), body.get("prompt")
    each = n if type(n) is int and n > 1 else 1
    return each * (count_of(prompt) if prompt else 1)
