"""Writes the call that asks a target for a request, relayed or neutral."""

from __future__ import annotations

from typing import Final, TypeGuard

import orjson

from gateway.upstream.hosted import refuse_thread, without_hosted
from gateway.upstream.openai.calling import shortened
from gateway.upstream.openai.losses import Losses
from gateway.upstream.provider import HttpCall, Target
from gateway.upstream.providers.openai_responses import options
from gateway.upstream.providers.openai_responses.adapt import Body, adapt
from gateway.upstream.providers.openai_responses.foreign import own_only
from gateway.upstream.providers.openai_responses.items import conversation_of
from gateway.upstream.providers.openai_responses.names import DIALECT, ENCRYPTED, PATH
from gateway.upstream.providers.openai_responses.thinking import hand_over, thinking
from gateway.upstream.retold import retold
from gateway.upstream.shared import translated
from techniques.core.json import JsonObject
from techniques.core.request import Relay, Request

_OURS: Final = ("background",)
"""What the gateway sees to itself: the call of a run in the background is one like any other."""


def is_relayed(request: Request) -> bool:
    """Tell whether *request* is to be sent in the client's own body."""
    return _own(request.relay)


def _own(relay: Relay | None) -> TypeGuard[Relay]:
    return relay is not None and relay.dialect == DIALECT


def encode(request: Request, target: Target) -> HttpCall:
    """Return the call that asks *target* for *request*.

    Raises:
        RequestRejected: A feature that the target does not have, or a loss under ``strict``.
    """
    relay = request.relay
    if _own(relay):
        losses = Losses(strict=request.strict)
        body = own_only(_relayed(request, relay, target), relay.raw, losses)
        if target.steered and "reasoning" not in body:
            body = _steered(body, target, losses)
        body = _without_thoughts(body, target)
        can = target.relayed
    else:
        relay, request = None, request.decoded()
        native = request.dialect in {"", DIALECT}
        losses = Losses(strict=request.strict, native=native, takes=options.TAKES)
        request = translated(request, DIALECT, losses.takes, losses.drop)
        body = _written(request if losses.native else shortened(request), target, losses)
        can = target.capabilities
    adapted = adapt(body, can, losses)
    raw = relay.raw if relay is not None and adapted is relay.body else None
    headers = {"content-type": "application/json"}
    if losses.native:
        headers.update(request.headers)
    return HttpCall(PATH, raw or orjson.dumps(dict(adapted)), headers, losses.warnings)


def _relayed(request: Request, relay: Relay, target: Target) -> Body:
    """Return the client's body with what must differ, or itself if nothing must."""
    body = relay.body
    changes: JsonObject = {}
    if body.get("model") != target.model:
        changes["model"] = target.model
    if bool(body.get("stream")) != request.stream:
        changes["stream"] = request.stream
    if not changes and not any(body.get(name) for name in _OURS):
        return body
    kept = {name: value for name, value in body.items() if name not in _OURS}
    return {**kept, **changes}


def _without_thoughts(body: Body, target: Target) -> Body:
    """Return *body* without asking for what a model thought that is known not to think.

    Its provider refuses that, and the gateway asks for it whenever it keeps a response.
    """
    included = body.get("include")
    if target.thinks.able or not target.thinks.known or not isinstance(included, list):
        return body
    if ENCRYPTED not in included:
        return body
    others = [one for one in included if one != ENCRYPTED]
    kept = {name: value for name, value in body.items() if name != "include"}
    return {**kept, "include": others} if others else kept


def _steered(body: Body, target: Target, losses: Losses) -> Body:
    """Return a relayed *body*, which says nothing of reasoning, with what the operator says."""
    changed = dict(body)
    if target.thinking is not None:
        thinking(changed, target.thinking, target, losses)
    return changed


def _written(request: Request, target: Target, losses: Losses) -> Body:
    refuse_thread(request)
    request = without_hosted(request, target, DIALECT, losses.drop)
    request = retold(request, DIALECT, losses.drop)
    body: JsonObject = {"model": target.model, **conversation_of(request, losses)}
    options.sampling(request.sampling, body, losses)
    options.tools(request, body, losses)
    options.form(request.response_format, body, losses)
    if request.user is not None:
        body["user"] = request.user
    if request.stream:
        body["stream"] = True
    options.extra(request, body, losses)
    for name in _OURS:
        body.pop(name, None)
    if body.get("store") is None:
        body["store"] = False
    wish = request.thinking or target.thinking
    if wish is not None:
        thinking(body, wish, target, losses)
    if body["store"] is not True and hand_over(request, wish, target):
        options.include(ENCRYPTED, body)
    return body
