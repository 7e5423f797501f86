"""What a wish to think comes to for one model: the arithmetic that all providers share.

A budget of tokens and an effort in words are two measures of one thing; a model takes one of them,
both, or only yes and no. Nothing here knows how a provider spells it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from gateway.config.thinking import Effort, Style
from techniques.core.events import Warned
from techniques.core.request import ThinkingWish

LEAST_BUDGET: Final = 1024
"""The fewest tokens that Anthropic takes for reasoning, and OpenRouter after it."""
ROOM: Final = 4096
"""Tokens for the reasoning of a model that was not to reason and cannot help it."""
ALL_TAGS: Final = ("think", "thinking", "thought", "reasoning")
"""The names of the tags between which models write their reasoning."""

_EFFORTS: Final[tuple[str, ...]] = get_args(Effort)
_BUDGETS: Final[Mapping[str, int]] = {
    "minimal": 1024,
    "low": 1024,
    "medium": 4096,
    "high": 16384,
    "xhigh": 32768,
    "max": 65536,
}
_LOW, _MEDIUM = 2048, 8192
_UNGRADED: Final = frozenset({"chat_template", "switch", "directive", "none"})
"""Styles that say whether to think, and not how much."""


@dataclass(frozen=True, slots=True)
class Thinks:
    """How a model thinks, and how its backend is told.

    Attributes:
        style: How the wish is spelled.
        levels: The efforts that it takes, from the least; empty: any, or none where the style has
            none.
        off: What is said to keep it from thinking, in the words of the style; empty: nothing does.
        unasked: It thinks when nothing is said of it.
        sampling: When it takes a temperature and its like: always, only while it does not think,
            or never.
        tags: Between which tags it writes its reasoning into its text, if nobody takes it out.
        opened: The first of these tags is a part of the prompt, so that only the closing one is
            written.
        flag: The name of the switch in its chat template.
        newer_limit: Its output limit is named ``max_completion_tokens`` (OpenAI).
        known: The model or its host was recognised; else all this is a guess.
    """

    style: Style = "effort"
    levels: tuple[str, ...] = ()
    off: str = ""
    unasked: bool = False
    sampling: Literal["always", "off", "never"] = "always"
    tags: tuple[str, ...] = ()
    opened: bool = False
    flag: str = "enable_thinking"
    newer_limit: bool = False
    known: bool = True

    @property
    def able(self) -> bool:
        """Whether the model can think at all, as far as is known."""
        return self.known and (self.unasked or self.style != "none")


UNKNOWN: Final = Thinks(known=False)
"""A model that nothing is known of."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What is asked of a model.

    ``on``: it thinks, whether it was to or not. ``effort`` and ``budget`` None: as the model likes.
    ``room`` are tokens that its output limit must grow by, for reasoning that was not wished for.
    ``losses`` tell what of the wish could not be had.
    """

    on: bool
    effort: str | None = None
    budget: int | None = None
    room: int = 0
    losses: tuple[Warned, ...] = ()


def settle(wish: ThinkingWish, thinks: Thinks) -> Settled:
    """Return what is asked of a model that *thinks* so, for *wish*."""
    if not wish.thinks or (wish.effort == "minimal" and _rests(wish, thinks)):
        return _off(thinks)
    if thinks.style == "none" and not thinks.unasked:
        return Settled(on=False, losses=(Warned("field_dropped", "thinking"),))
    asked = wish.effort or _effort_of(wish.budget_tokens) or _unsaid(wish, thinks)
    effort = nearest(asked, thinks.levels)
    losses = []
    if thinks.style in _UNGRADED and not thinks.levels:
        effort = None
        losses += [Warned("field_dropped", said) for said in _graded(wish)]
    elif wish.effort is not None and effort != wish.effort:
        losses.append(Warned("effort_changed", f"{wish.effort} -> {effort}"))
    return Settled(on=True, effort=effort, budget=wish.budget_tokens, losses=tuple(losses))


def _unsaid(wish: ThinkingWish, thinks: Thinks) -> str | None:
    """Return the effort of a *wish* that names none, where only an effort can be said."""
    return "medium" if wish.mode == "on" and thinks.style in {"effort", "ollama"} else None


def _off(thinks: Thinks) -> Settled:
    if thinks.off or not thinks.unasked:
        return Settled(on=False)
    least = thinks.levels[0] if thinks.levels else None
    return Settled(on=True, effort=least, room=ROOM, losses=(Warned("thinking_kept"),))


def _rests(wish: ThinkingWish, thinks: Thinks) -> bool:
    """Whether the model of a *wish* for the least thinking does best to do none."""
    return wish.mode is None and bool(thinks.off) and "minimal" not in thinks.levels


def _graded(wish: ThinkingWish) -> list[str]:
    named = {"effort": wish.effort, "budget_tokens": wish.budget_tokens}
    return [name for name, value in named.items() if value is not None]


def _effort_of(budget: int | None) -> str | None:
    """Return the word for a *budget* of tokens."""
    if budget is None:
        return None
    return "low" if budget < _LOW else "medium" if budget < _MEDIUM else "high"


def budget_of(settled: Settled) -> int:
    """Return the tokens that *settled* comes to."""
    return settled.budget or _BUDGETS.get(settled.effort or "medium", _BUDGETS["medium"])


def nearest(effort: str | None, levels: Sequence[str]) -> str | None:
    """Return that of *levels* which is nearest to *effort*, the higher of two; any if none stand.

    An effort that is no word of ours stays itself where it can.
    """
    if effort is None or not levels or effort in levels:
        return effort
    place = _place(effort)
    return min(levels, key=lambda level: (abs(_place(level) - place), -_place(level)))


def _place(effort: str) -> int:
    return _EFFORTS.index(effort) if effort in _EFFORTS else _EFFORTS.index("medium")
