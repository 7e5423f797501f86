"""How an operator says what is asked of a model that can think, and how its backend takes it."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, get_args

from pydantic import Field, model_validator

from gateway.config.values import worded
from router_service.groundwork.section import Section

Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much to think, from the least."""

Style: TypeAlias = Literal[
    "effort",
    "anthropic_budget",
    "anthropic_adaptive",
    "gemini",
    "openrouter",
    "chat_template",
    "switch",
    "dashscope",
    "ollama",
    "directive",
    "none",
]
"""How a backend is told whether to think; ``gateway.upstream.thinking`` has what each means."""

_BY_DIALECT: Final = {
    "anthropic": ("anthropic_budget", "anthropic_adaptive", "none"),
    "openai_responses": ("effort", "none"),
    "openai_chat": tuple(style for style in get_args(Style) if not style.startswith("anthropic_")),
}
_SWITCHES: Final = {"off": False, "on": True, "auto": "auto"}
_SECONDS: Final = (
    "a limit in seconds would only stop waiting, not what is billed; say budget_tokens or effort"
)


class ThinkingConfig(Section):
    """How much a model thinks when the caller says nothing; ``auto``: as it does unasked.

    May be written ``off``, ``on``, ``auto`` or as an effort alone.
    """

    enabled: bool | Literal["auto"] = True
    budget_tokens: int | None = Field(None, gt=0)
    effort: Effort | None = None

    @model_validator(mode="before")
    @classmethod
    def _in_full(cls, stated: Any) -> Any:
        if isinstance(stated, dict):
            if "budget_seconds" in stated:
                raise ValueError(f"budget_seconds: {_SECONDS}")
            return stated
        word = worded(stated)
        if isinstance(word, str) and word in _SWITCHES:
            return {"enabled": _SWITCHES[word]}
        if word in get_args(Effort):
            return {"effort": word, "enabled": word != "none"}
        raise ValueError(f"must be off, on, auto or an effort: {', '.join(get_args(Effort))}")


def unfit(style: Style | None, dialect: str) -> str:
    """Return why *style* cannot be said in *dialect*, empty if it can or is None."""
    fit = _BY_DIALECT[dialect]
    return "" if style in (None, *fit) else f"with dialect {dialect} it is one of {', '.join(fit)}"
