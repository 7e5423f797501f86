"""How much a model is to reason, as this provider asks for it."""

from __future__ import annotations

from gateway.upstream.provider import Target
from gateway.upstream.providers.anthropic.losses import Losses
from gateway.upstream.thinking import LEAST_BUDGET, Settled, Thinks, budget_of, nearest, settle
from techniques.core.json import Json, JsonObject
from techniques.core.request import Request, ThinkingWish

_OMIT = "omit"
"""The word for keeping a model from thinking by saying nothing of it."""


def encode_thinking(request: Request, target: Target, body: JsonObject, losses: Losses) -> None:
    """Write the wish for reasoning into *body*, and clear what the API forbids beside it.

    ``max_tokens`` covers the reasoning too and must be above its budget: it is raised, so that
    the answer keeps the room that was asked for.
    """
    wish = request.thinking or target.thinking
    if wish is None:
        return
    if losses.own and wish.effort is not None:
        _write_effort(nearest(wish.effort, target.thinks.levels), body)
    if wish.mode is not None or not losses.own:  # else the effort alone was said
        _encode(wish, target.thinks, body, losses)


def _encode(wish: ThinkingWish, thinks: Thinks, body: JsonObject, losses: Losses) -> None:
    settled = settle(wish, thinks)
    for lost in settled.losses:
        losses.note(lost.code, lost.detail)
    graded = settled.on and thinks.style == "anthropic_adaptive"
    if graded and not (losses.own and wish.effort is not None):
        _write_effort(settled.effort, body)
    thinking = _thinking(wish, settled, thinks)
    if settled.on and is_barred(thinking, body["messages"]):
        losses.note("thinking_off", "thinking")
        settled, thinking = Settled(on=False), {"type": "disabled"}
    _make_room(thinking.get("budget_tokens", 0), settled, body, losses)
    if thinking:
        body["thinking"] = thinking | (dict(wish.extra) if losses.own else {})
    if settled.on:
        _clear(body, losses)


def _write_effort(effort: str | None, body: JsonObject) -> None:
    if effort is not None:
        body.setdefault("output_config", {})["effort"] = effort


def _thinking(wish: ThinkingWish, settled: Settled, thinks: Thinks) -> JsonObject:
    """Return the ``thinking`` object, an empty one where nothing is to be said."""
    if not settled.on:
        return {} if thinks.off in {"", _OMIT} else {"type": thinks.off}
    adapts = wish.mode == "adaptive" and not thinks.known
    if thinks.style != "anthropic_adaptive" and not adapts:
        return {"type": "enabled", "budget_tokens": max(budget_of(settled), LEAST_BUDGET)}
    # models that take no sampling parameters any more leave their reasoning's text out unless asked
    shown = thinks.sampling == "never" and not settled.room
    return {"type": "adaptive", **({"display": "summarized"} if shown else {})}


def is_barred(thinking: Json, messages: list[Json]) -> bool:
    """Tell whether a tool loop is under way whose reasoning did not come along.

    The API then refuses the request: with a budget set, the turn that called must start with its
    thinking.
    """
    if not isinstance(thinking, dict) or "budget_tokens" not in thinking:
        return False
    turns = [turn for turn in messages if isinstance(turn, dict) and turn.get("role") != "system"]
    if len(turns) < 2:
        return False
    called, answered = (_first(turn.get("content")) for turn in turns[-2:])
    return answered == "tool_result" and called not in {"thinking", "redacted_thinking"}


def _first(content: Json) -> Json:
    """Return the type of the first block of *content*, which may be plain text."""
    first = content[0] if isinstance(content, list) and content else None
    return first.get("type") if isinstance(first, dict) else "text"


def _make_room(budget: int, settled: Settled, body: JsonObject, losses: Losses) -> None:
    more = settled.room or (budget if budget >= body["max_tokens"] else 0)
    if more:
        losses.note("max_tokens_raised", "max_tokens")
        body["max_tokens"] += more


def _clear(body: JsonObject, losses: Losses) -> None:
    for name in ("temperature", "top_k", "top_p"):
        value = body.get(name)
        allowed = name == "top_p" and value is not None and 0.95 <= value <= 1
        if value is not None and not allowed:
            del body[name]
            if value != 1 or name == "top_k":  # of the others 1 says nothing
                losses.note("field_dropped", name)
    choice = body.get("tool_choice")
    if choice is not None and choice["type"] in {"any", "tool"}:
        losses.note("tool_choice_relaxed", "tool_choice")
        body["tool_choice"] = {name: value for name, value in choice.items() if name != "name"} | {
            "type": "auto"
        }
