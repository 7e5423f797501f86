"""The signatures that Google's models hang on their tool calls, and what stands for a missing one.

From Gemini 3 on, the first call of a step is refused without one (400). For calls that have none,
since another model made them or a client kept nothing, Google documents a value that stands for it.
Source: ai.google.dev/gemini-api/docs/thought-signatures (OpenAI compatibility; FAQs).
"""

from __future__ import annotations

from typing import Final

from gateway.upstream.openai.losses import Losses
from gateway.upstream.openai.payload import as_list, as_object
from gateway.upstream.provider import Target
from gateway.upstream.providers.openai_chat.adapt import Body
from techniques.core.carried import FIELDS
from techniques.core.json import Json

_FIELD: Final = "extra_content"
_DETAILS: Final = "reasoning_details"
_UNSIGNED: Final = "skip_thought_signature_validator"


def returned(body: Body, target: Target, losses: Losses) -> Body:
    """Return a *body*, written for a client of another API: signatures go to who reads them.

    Raises:
        RequestRejected: One is left out, and the request is strict.
    """
    if losses.native:
        return body
    turns = as_list(body.get("messages"))
    kept = turns
    if target.thinks.style != "openrouter":
        kept = [{name: turn[name] for name in turn if name != _DETAILS} for turn in kept]
        if kept != turns:
            losses.drop("thinking_dropped", "messages")
    if target.thinks.style != "gemini" and "gemini" not in target.model.lower():
        unsigned = [_without(turn) for turn in kept]
        if unsigned != kept:
            losses.drop("field_dropped", _FIELD)
        kept = unsigned
    return {**body, "messages": kept}


def signed(body: Body, target: Target, losses: Losses) -> Body:
    """Return *body* as a Gemini that insists on signatures takes it; itself if it does so already.

    Raises:
        RequestRejected: A signature is missing, and the request is strict.
    """
    if target.thinks.style != "gemini" or not target.thinks.levels:
        return body
    turns = as_list(body.get("messages"))
    missing = {place for place, turn in enumerate(turns) if _lacks(turn)}
    if not missing:
        return body
    losses.drop("signature_missing", "messages")
    told = [_signed(turn) if place in missing else turn for place, turn in enumerate(turns)]
    return {**body, "messages": told}


def _lacks(turn: Json) -> bool:
    calls = as_list(as_object(turn).get("tool_calls"))
    if not calls or not isinstance(calls[0], dict):
        return False
    google = as_object(as_object(calls[0].get(_FIELD)).get("google"))
    return not google.get("thought_signature")


def _signed(turn: Json) -> Json:
    first, *others = turn["tool_calls"]
    extra = as_object(first.get(_FIELD))
    google = {**as_object(extra.get("google")), "thought_signature": _UNSIGNED}
    return {**turn, "tool_calls": [{**first, _FIELD: {**extra, "google": google}}, *others]}


def _without(turn: Json) -> Json:
    calls = as_list(as_object(turn).get("tool_calls"))
    if not any(FIELDS & call.keys() for call in calls):
        return turn
    kept = [{name: call[name] for name in call if name not in FIELDS} for call in calls]
    return {**turn, "tool_calls": kept}
