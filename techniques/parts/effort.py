"""How hard a model is to think: one step more, or as much as is said."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal, TypeAlias, get_args

from techniques.core.request import ThinkingWish

Effort: TypeAlias = Literal["minimal", "low", "medium", "high", "xhigh", "max"]

_STEPS: Final[tuple[Effort, ...]] = ("minimal", "low", "medium", "high")
_LEAST: Final[Effort] = "low"  # for a model that was not to think at all
_UNSAID: Final[Effort] = "medium"  # what models do by default, as far as they tell
_ENOUGH_TOKENS: Final = 32_768


def raised(wish: ThinkingWish | None, to: Effort | None = None) -> ThinkingWish:
    """Return *wish* with thinking one step harder, or with the effort *to*.

    A budget of tokens is doubled. What is at its top already is returned as it is; the efforts
    that only some models know are never chosen unasked.
    """
    wish = wish or ThinkingWish()
    if to is not None:
        return _with_effort(wish, to)
    if wish.mode == "off" or wish.effort == "none":
        return _with_effort(wish, _LEAST)
    if wish.budget_tokens is not None:
        most = max(_ENOUGH_TOKENS, wish.budget_tokens)
        return replace(wish, budget_tokens=min(2 * wish.budget_tokens, most))
    at = wish.effort or _UNSAID
    if at not in _STEPS[:-1]:
        return wish
    return _with_effort(wish, _STEPS[_STEPS.index(at) + 1])


def harder(wish: ThinkingWish | None, effort: str) -> ThinkingWish:
    """Return *wish* with the *effort* of that name; one that is not known changes nothing."""
    known = next((one for one in get_args(Effort) if one == effort), None)
    return wish or ThinkingWish() if known is None else raised(wish, known)


def _with_effort(wish: ThinkingWish, effort: Effort) -> ThinkingWish:
    """Return *wish* with *effort* in place of what it says of how much to think."""
    mode = None if wish.mode == "off" else wish.mode
    return replace(wish, mode=mode, budget_tokens=None, effort=effort)
