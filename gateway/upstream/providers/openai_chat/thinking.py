"""How much a model is to reason, as the many hosts of this API ask for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from gateway.config.thinking import Style
from gateway.upstream.openai.losses import Losses
from gateway.upstream.openai.payload import as_list, as_object
from gateway.upstream.provider import Target
from gateway.upstream.providers.openai_chat.adapt import Body, without
from gateway.upstream.thinking import LEAST_BUDGET, Settled, Thinks, budget_of, settle
from techniques.core.json import NOTHING, Json, JsonObject
from techniques.core.request import Relay, ThinkingWish

SPELLED: Final[Mapping[Style, tuple[str, ...]]] = {
    "effort": ("reasoning_effort",),
    "ollama": ("reasoning_effort",),
    "openrouter": ("reasoning", "reasoning_effort"),
    "gemini": ("extra_body", "reasoning_effort"),
    "chat_template": ("chat_template_kwargs",),
    "switch": ("thinking", "reasoning_effort"),
    "dashscope": ("enable_thinking", "thinking_budget"),
}
"""The fields in which each style says it; a style that has none here says it otherwise."""
_WORDS: Final = frozenset(
    {"reasoning_effort", "reasoning", "thinking", "think", "enable_thinking", "thinking_budget"}
)
_STANDARD: Final = (
    "reasoning_effort"  # which every client knows: it is no word of the backend's own
)
_NESTED: Final = ("chat_template_kwargs", "extra_body")
_SAMPLING: Final = (
    *("temperature", "top_p", "presence_penalty", "frequency_penalty"),
    *("logprobs", "top_logprobs"),
)
_LIMITS: Final = ("max_completion_tokens", "max_tokens")
_LEAST_GOOGLE: Final = 128  # which Gemini 2.5 Pro cannot go below


def steered(body: Body, relay: Relay, target: Target, losses: Losses) -> Body:
    """Return a relayed *body* made to say what *target*'s operator says of thinking.

    What the client says in the backend's own words stays; in another's, it is translated.
    """
    if any(name in body for name in SPELLED.get(target.thinks.style, ()) if name not in _NESTED):
        return body
    wish = None
    if not _WORDS.isdisjoint(body) or any(name in body for name in _NESTED):
        wish = relay.decode().thinking
    wish = wish or target.thinking
    return body if wish is None else thinking(body, wish, target, losses)


def understood(body: Body, relay: Relay, target: Target, losses: Losses) -> Body:
    """Return a relayed *body* without other hosts' words for thinking, if *target* refuses those.

    What they wish for is said in its own. A host that refuses nothing gets them as they are.
    """
    foreign = _WORDS & body.keys() - {_STANDARD, *SPELLED.get(target.thinks.style, ())}
    if not target.refuses or not foreign:
        return body
    wish = relay.decode().thinking
    if wish is not None:
        return thinking(body, replace(wish, extra=NOTHING), target, losses)
    return without(body, sorted(foreign), losses)


def thinking(body: Body, wish: ThinkingWish, target: Target, losses: Losses) -> Body:
    """Return *body* with *wish* as *target* takes it, and without what it forbids beside it.

    A client's own words for it, in the target's dialect, win over ours.
    """
    thinks = target.thinks
    settled = settle(wish, thinks)
    for lost in settled.losses:
        losses.drop(lost.code, lost.detail)
    said = _SAY[thinks.style](settled, thinks)
    own = dict(wish.extra) if losses.native else {}
    if own and not thinks.known:
        said = own
    spelled = SPELLED.get(thinks.style, ())
    own = {name: own[name] for name in spelled if name in own and name != _STANDARD}
    kept = {name: value for name, value in body.items() if name not in _WORDS}
    changed = _over(_over(kept, said), own)
    changed = _roomy(changed, settled, _budget(said), losses)
    if thinks.style == "directive" and not settled.on:
        changed["messages"] = _told(as_list(body.get("messages")), thinks.off)
    barred = settled.on and thinks.sampling == "off"
    return without(changed, _SAMPLING, losses) if barred else changed


def _effort(settled: Settled, thinks: Thinks) -> JsonObject:
    said = settled.effort if settled.on else thinks.off
    return {"reasoning_effort": said} if said else {}


def _openrouter(settled: Settled, thinks: Thinks) -> JsonObject:
    """Say it OpenRouter's way, where a limit and an effort exclude each other."""
    if not settled.on:
        off: JsonObject = {"enabled": False}
        if thinks.off in thinks.levels:
            off = {"effort": thinks.off}
        return {"reasoning": off} if thinks.off else {}
    how: JsonObject = {"effort": settled.effort} if settled.effort else {}
    if settled.budget:
        how = {"max_tokens": max(settled.budget, LEAST_BUDGET)}
    return {"reasoning": {"enabled": True, **how}}


def _gemini(settled: Settled, thinks: Thinks) -> JsonObject:
    """Say it Google's way: levels from Gemini 3 on, before that a budget, -1 for any."""
    config: JsonObject = {}
    if thinks.levels:
        level = settled.effort if settled.on else thinks.off
        config = {"thinking_level": level} if level else {}
    elif not settled.on:
        config = {"thinking_budget": 0} if thinks.off else {}
    elif settled.room:
        config = {"thinking_budget": _LEAST_GOOGLE}
    else:
        graded = settled.budget or settled.effort
        config = {"thinking_budget": budget_of(settled) if graded else -1}
    if settled.on and not settled.room:
        config["include_thoughts"] = True
    return {"extra_body": {"google": {"thinking_config": config}}} if config else {}


def _template(settled: Settled, thinks: Thinks) -> JsonObject:
    said = bool(thinks.off) or not thinks.unasked
    return {"chat_template_kwargs": {thinks.flag: settled.on}} if said else {}


def _switch(settled: Settled, thinks: Thinks) -> JsonObject:
    if not settled.on:
        return {"thinking": {"type": thinks.off}} if thinks.off else {}
    effort = {"reasoning_effort": settled.effort} if settled.effort else {}
    return {"thinking": {"type": "enabled"}, **effort}


def _dashscope(settled: Settled, thinks: Thinks) -> JsonObject:
    if not settled.on:
        return {"enable_thinking": False} if thinks.off else {}
    graded = settled.budget or settled.effort
    return {"enable_thinking": True, **({"thinking_budget": budget_of(settled)} if graded else {})}


def _silent(settled: Settled, thinks: Thinks) -> JsonObject:
    del settled, thinks
    return {}


_SAY: Final[Mapping[Style, Callable[[Settled, Thinks], JsonObject]]] = {
    "effort": _effort,
    "ollama": _effort,
    "openrouter": _openrouter,
    "gemini": _gemini,
    "chat_template": _template,
    "switch": _switch,
    "dashscope": _dashscope,
    "directive": _silent,
    "none": _silent,
    "anthropic_budget": _silent,
    "anthropic_adaptive": _silent,
}


def _budget(said: JsonObject) -> int:
    """Return the tokens of thinking that are asked for in so many words, 0 if in none."""
    google = as_object(as_object(said.get("extra_body")).get("google"))
    counts = (
        as_object(said.get("reasoning")).get("max_tokens"),
        as_object(google.get("thinking_config")).get("thinking_budget"),
    )
    return max((count for count in counts if isinstance(count, int)), default=0)


def _roomy(body: JsonObject, settled: Settled, budget: int, losses: Losses) -> JsonObject:
    """Return *body* with an output limit that leaves the answer its room beside the thinking."""
    for name in _LIMITS:
        limit = body.get(name)
        if isinstance(limit, int):
            more = settled.room or (budget if budget >= limit else 0)
            if more:
                losses.drop("max_tokens_raised", name)
            return {**body, name: limit + more}
    return body


def _told(messages: list[Json], directive: str) -> list[Json]:
    """Return *messages* with *directive* at the end of what the user said last.

    At the end, so that what the prompt begins with stays in the caches of the backend.
    """
    for place in reversed(range(len(messages))):
        turn = as_object(messages[place])
        if turn.get("role") == "user":
            said = turn.get("content")
            if isinstance(said, str):
                content: Json = f"{said} {directive}"
            else:
                content = [*as_list(said), {"type": "text", "text": directive}]
            return [*messages[:place], {**turn, "content": content}, *messages[place + 1 :]]
    return messages


def _over(under: Body, over: Body) -> JsonObject:
    """Return *under* with the fields of *over* in it, those of objects one by one."""
    merged = dict(under)
    for name, value in over.items():
        below = merged.get(name)
        if isinstance(value, dict) and isinstance(below, dict):
            merged[name] = _over(below, value)
        else:
            merged[name] = value
    return merged
