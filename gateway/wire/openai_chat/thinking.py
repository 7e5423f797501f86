"""Reads how much a model is to think, in whichever host's words the client says it.

OpenAI's own is ``reasoning_effort``. Clients of other hosts of this API add fields of theirs, which
mean the same; they stay with the wish, so that such a host gets them as they were written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Final, Literal, TypeAlias

from gateway.wire.openai_chat.fields import Fields, text
from techniques.core.json import Json, JsonObject
from techniques.core.request import ThinkingWish

_Mode: TypeAlias = Literal["off", "on", "adaptive"]
_Read: TypeAlias = Callable[[Json], ThinkingWish | None]

_FLAGS: Final = ("enable_thinking", "thinking")
_TYPES: Final[Mapping[Json, _Mode]] = {
    "enabled": "on",
    "disabled": "off",
    "adaptive": "adaptive",
    "auto": "adaptive",
}


def wish_of(body: Fields, extra: JsonObject) -> ThinkingWish | None:
    """Return the wish in *body*, None if there is none; fields that spell it leave *extra*."""
    effort = text(body, "reasoning_effort")
    found = [ThinkingWish(effort=effort)] if effort else []
    own: JsonObject = {}
    for name, read in _READERS.items():
        wish = read(extra.get(name))
        if wish is not None:
            found.append(wish)
            own[name] = extra.pop(name)
    if effort and own:
        own["reasoning_effort"] = effort
    return _settled(reduce(_under, found), own) if found else None


def _under(first: ThinkingWish, second: ThinkingWish) -> ThinkingWish:
    """Return what two wishes come to; where both say something, the *second* counts."""
    return ThinkingWish(
        second.mode or first.mode,
        second.budget_tokens or first.budget_tokens,
        second.effort or first.effort,
    )


def _settled(wish: ThinkingWish, own: JsonObject) -> ThinkingWish:
    """Return *wish* in its proper form: a budget is one for thinking, and off is off."""
    mode = wish.mode or ("on" if wish.budget_tokens else None)
    if mode == "off":
        return ThinkingWish("off", extra=own)
    budget = wish.budget_tokens if mode == "on" else None
    return ThinkingWish(mode, budget, wish.effort, own)


def _mode(on: Json) -> ThinkingWish | None:
    return ThinkingWish("on" if on else "off") if isinstance(on, bool) else None


def _reasoning(value: Json) -> ThinkingWish | None:
    """OpenRouter's object: an effort or a limit, and whether at all."""
    if not isinstance(value, dict):
        return None
    effort, budget = _word(value.get("effort")), _amount(value.get("max_tokens"))
    enabled = value.get("enabled")
    if enabled is False or effort == "none":
        return ThinkingWish("off")
    if effort is None and budget is None and enabled is not True:
        return None
    return ThinkingWish("on" if enabled or budget else None, budget, effort)


def _thinking(value: Json) -> ThinkingWish | None:
    """Anthropic's object, which DeepSeek, Z.ai and others take in this API."""
    if not isinstance(value, dict):
        return _mode(value)
    mode = _TYPES.get(value["type"]) if isinstance(value.get("type"), str) else None
    if mode is None:
        return None
    return ThinkingWish(mode, _amount(value.get("budget_tokens")), _word(value.get("effort")))


def _think(value: Json) -> ThinkingWish | None:
    """Ollama's flag, or the level that gpt-oss takes."""
    return ThinkingWish(effort=value) if value and isinstance(value, str) else _mode(value)


def _budget(value: Json) -> ThinkingWish | None:
    budget = _amount(value)
    return None if budget is None else ThinkingWish(None, budget)


def _template(value: Json) -> ThinkingWish | None:
    """The switches of chat templates, as vLLM, SGLang and llama.cpp take them."""
    if not isinstance(value, dict):
        return None
    return _mode(next((value[name] for name in _FLAGS if name in value), None))


def _google(value: Json) -> ThinkingWish | None:
    """Gemini's configuration, as its OpenAI-compatible address takes it."""
    google = value.get("google") if isinstance(value, dict) else None
    config = google.get("thinking_config") if isinstance(google, dict) else None
    if not isinstance(config, dict):
        return None
    budget = config.get("thinking_budget")
    if type(budget) is int:
        mode: _Mode = "off" if budget == 0 else "adaptive" if budget < 0 else "on"
        return ThinkingWish(mode, _amount(budget))
    level = _word(config.get("thinking_level"))
    return ThinkingWish(effort=level.lower()) if level else None


def _word(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None


def _amount(value: Json) -> int | None:
    return value if type(value) is int and value > 0 else None


_READERS: Final[Mapping[str, _Read]] = {
    "reasoning": _reasoning,
    "thinking": _thinking,
    "think": _think,
    "thinking_budget": _budget,
    "enable_thinking": _mode,
    "chat_template_kwargs": _template,
    "extra_body": _google,
}
"""In the order of their weight: of two that differ, the later counts."""
