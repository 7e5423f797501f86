"""Writes neutral requests as calls of the Messages API."""

from __future__ import annotations

import orjson

from gateway.upstream.hosted import refuse_thread, without_hosted
from gateway.upstream.provider import HttpCall, Target
from gateway.upstream.providers.anthropic.headers import DIALECT, PATH, call_headers
from gateway.upstream.providers.anthropic.losses import Losses
from gateway.upstream.providers.anthropic.options import (
    TAKES,
    encode_extra,
    encode_format,
    encode_sampling,
    encode_tools,
)
from gateway.upstream.providers.anthropic.parts import Parts
from gateway.upstream.providers.anthropic.thinking import encode_thinking
from gateway.upstream.providers.anthropic.turns import encode_turns
from gateway.upstream.retold import retold
from gateway.upstream.shared import translated
from techniques.core.json import JsonObject
from techniques.core.request import Request


def encode_call(request: Request, target: Target) -> HttpCall:
    """Return the call that asks *target* for *request*, which is in its full form.

    Raises:
        RequestRejected: It needs what the target does not have, or is strict and loses something.
    """
    refuse_thread(request)
    losses = Losses(request)
    if not losses.own:
        request = translated(request, DIALECT, TAKES, losses.note)
    own = DIALECT if losses.own else ""
    request = without_hosted(request, target, own, losses.note)
    request = retold(request, own, losses.note)
    system, messages = encode_turns(request.messages, Parts(target, losses), losses)
    body: JsonObject = {"model": target.model}
    encode_sampling(request.sampling, target, body, losses)
    if system:
        body["system"] = system
    body["messages"] = messages
    encode_tools(request, target, body, losses)
    encode_format(request.response_format, target, body, losses)
    if request.user is not None:
        body["metadata"] = {"user_id": request.user}
    if request.stream:
        body["stream"] = True
    encode_extra(request.extra, body, losses)
    encode_thinking(request, target, body, losses)
    return HttpCall(PATH, orjson.dumps(body), call_headers(request), losses.warnings)
