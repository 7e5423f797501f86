"""How much a model is to reason, as this API asks for it."""

from __future__ import annotations

from typing import Final

from gateway.upstream.openai.losses import Losses
from gateway.upstream.openai.payload import as_list, as_object
from gateway.upstream.provider import Target
from gateway.upstream.providers.openai_responses.names import DIALECT, LOGPROBS
from gateway.upstream.thinking import Settled, Thinks, settle
from techniques.core.json import Json, JsonObject
from techniques.core.request import Request, ThinkingWish

_LIMIT: Final = "max_output_tokens"
_SAMPLING: Final = ("temperature", "top_p", "top_logprobs")


def hand_over(request: Request, wish: ThinkingWish | None, target: Target) -> bool:
    """Tell whether reasoning is to come in the form in which it can be sent back.

    Clients of chat completions cannot send it back, and those of Anthropic's dialect that did not
    ask for thinking look for text in the first block.
    """
    asked = request.thinking is not None and request.thinking.thinks
    if request.dialect == "openai_chat" or not (asked or request.dialect in {"", DIALECT}):
        return False
    if wish is None:
        return target.thinks.known and target.thinks.unasked
    return settle(wish, target.thinks).on


def thinking(body: JsonObject, wish: ThinkingWish, target: Target, losses: Losses) -> None:
    """Write *wish* into *body* as *target* takes it, and take out what it forbids beside it.

    Its text is asked for only where it was wished to be seen: some accounts may not.
    """
    thinks = target.thinks
    settled = settle(wish, thinks)
    for lost in settled.losses:
        losses.drop(lost.code, lost.detail)
    said = _said(wish, settled, thinks, losses)
    if said:
        body["reasoning"] = {**as_object(body.get("reasoning")), **said}
    _make_room(body, settled, losses)
    if settled.on and thinks.sampling == "off":
        without(body, _SAMPLING, losses)


def _said(wish: ThinkingWish, settled: Settled, thinks: Thinks, losses: Losses) -> JsonObject:
    """Return what is settled, for the ``reasoning`` object in which the client's own words are."""
    said: JsonObject = {}
    effort = settled.effort if settled.on else thinks.off
    if effort and thinks.style != "none":
        said["effort"] = effort
    if settled.on and wish.mode in {"on", "adaptive"} and not losses.native:
        said["summary"] = "auto"
    return said


def _make_room(body: JsonObject, settled: Settled, losses: Losses) -> None:
    limit = body.get(_LIMIT)
    if settled.room and isinstance(limit, int):
        losses.drop("max_tokens_raised", _LIMIT)
        body[_LIMIT] = limit + settled.room


def without(body: JsonObject, names: tuple[str, ...], losses: Losses) -> None:
    """Take the tuning of these *names* out of *body*; at 1, a temperature says nothing."""
    for name in names:
        value: Json = body.pop(name, None)
        if name == "top_logprobs" and LOGPROBS in as_list(body.get("include")):
            body["include"] = [one for one in body["include"] if one != LOGPROBS]
            value = True
        if value is not None and not (name in {"temperature", "top_p"} and value == 1):
            losses.drop("field_dropped", name)
