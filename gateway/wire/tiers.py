"""How a call was served, in each vendor's words."""

from __future__ import annotations

from typing import Final

from techniques.core.json import JsonObject

_TIER: Final = "service_tier"
_FAST: Final = "fast"
_OPENAIS: Final = {
    **{tier: tier for tier in ("auto", "default", "flex", "scale", "priority")},
    "fast": "priority",  # which is what OpenAI calls it in an answer
    "standard": "default",
}
_ANTHROPICS: Final = {
    **{tier: tier for tier in ("standard", "priority", "batch")},
    "default": "standard",
}


def openais(mode: str) -> JsonObject:
    """Return the field that tells clients of OpenAI's APIs of *mode*, none if they know it not."""
    return {_TIER: _OPENAIS[mode]} if mode in _OPENAIS else {}


def anthropics(mode: str) -> JsonObject:
    """Return the field of a usage that tells clients of Anthropic's of *mode*, if they know it.

    What is fast is no tier there.
    """
    if mode == _FAST:
        return {"speed": _FAST}
    return {_TIER: _ANTHROPICS[mode]} if mode in _ANTHROPICS else {}
