"""How much a model is to reason, as this provider asks for it."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.upstream.provider import Target
from gateway.upstream.providers.anthropic.losses import Losses
from techniques.core.json import JsonObject
from techniques.core.request import Request, ThinkingWish

LEAST_BUDGET = 1024
"""The fewest tokens the API takes for reasoning."""
_BUDGETS: Mapping[str, int] = {"low": 1024, "medium": 4096, "high": 16384, "xhigh": 32768}
_NO_EFFORT = frozenset({"none", "minimal"})


def encode_thinking(request: Request, target: Target, body: JsonObject, losses: Losses) -> None:
    """Write the wish for reasoning into *body*, and clear what the API forbids beside it.

    ``max_tokens`` covers the reasoning too and must be above its budget: it is raised, so that
    the answer keeps the room that was asked for.
    """
    wish = request.thinking or target.thinking
    if wish is None:
        return
    thinking = _mode(wish, target, losses)
    if wish.effort and (losses.own or thinking == {"type": "adaptive"}):
        body.setdefault("output_config", {})["effort"] = wish.effort
    if thinking is None:
        return
    if thinking["type"] == "enabled" and _is_barred(body["messages"]):
        losses.note("thinking_off", "thinking")
        thinking = {"type": "disabled"}
    budget = thinking.get("budget_tokens", 0)
    if budget >= body["max_tokens"]:
        losses.note("max_tokens_raised", "max_tokens")
        body["max_tokens"] += budget
    body["thinking"] = thinking | dict(losses.extra(wish.extra, "thinking"))
    if thinking["type"] != "disabled":
        _clear(body, losses)


def _mode(wish: ThinkingWish, target: Target, losses: Losses) -> JsonObject | None:
    """Return the ``thinking`` object for *wish*, None where the effort alone says it."""
    match wish.mode:
        case "off":
            return {"type": "disabled"}
        case "adaptive":
            return {"type": "adaptive"}
        case "on":
            budget = wish.budget_tokens or _BUDGETS.get(wish.effort or "medium", 4096)
            return {"type": "enabled", "budget_tokens": max(budget, LEAST_BUDGET)}
        case None:
            return None if losses.own else _by_effort(wish.effort or "", target, losses)


def _by_effort(effort: str, target: Target, losses: Losses) -> JsonObject | None:
    if effort in _NO_EFFORT:
        return {"type": "disabled"}
    if target.thinking is not None and target.thinking.mode == "adaptive":
        return {"type": "adaptive"}
    if effort in _BUDGETS:
        return {"type": "enabled", "budget_tokens": _BUDGETS[effort]}
    losses.note("field_dropped", "reasoning_effort")
    return None


def _is_barred(messages: list[JsonObject]) -> bool:
    """Tell whether a tool loop is under way whose reasoning did not come along.

    The API then refuses the request: with a budget set, the turn that called must start with its
    thinking.
    """
    if len(messages) < 2 or messages[-1]["content"][0]["type"] != "tool_result":
        return False
    return messages[-2]["content"][0]["type"] not in {"thinking", "redacted_thinking"}


def _clear(body: JsonObject, losses: Losses) -> None:
    for name in ("temperature", "top_k", "top_p"):
        value = body.get(name)
        allowed = name == "top_p" and value is not None and 0.95 <= value <= 1
        if value is not None and not allowed:
            del body[name]
            if value != 1:
                losses.note("field_dropped", name)
    choice = body.get("tool_choice")
    if choice is not None and choice["type"] in {"any", "tool"}:
        losses.note("tool_choice_relaxed", "tool_choice")
        choice["type"] = "auto"
        choice.pop("name", None)
