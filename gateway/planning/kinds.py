"""Which models serve what: conversations, embeddings, or texts to go on with.

What nobody knows of a model is no reason to refuse a call: its provider then says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from gateway.policy.models import Model
from gateway.policy.wishes import Wishes
from gateway.wire.dialect import Call
from techniques.core.errors import RequestRejected
from techniques.core.relayed import ALONE, COMPLETIONS, EMBEDDINGS

_NONE: Final = "none"
_WORDS: Final = {EMBEDDINGS: "embeddings", COMPLETIONS: "legacy completions"}
_CONVERSATION: Final = "conversation"
_HAVE: Final = {
    EMBEDDINGS: frozenset({"openai_chat", "openai_responses"}),
    COMPLETIONS: frozenset({"openai_chat"}),
}
"""The dialects of providers that have it at all."""


def kind_of(dialect: str) -> str:
    """Return what a call of *dialect* asks for: one word for all conversations."""
    return dialect if dialect in ALONE else _CONVERSATION


def must_be_plain(slug: str | None, wishes: Wishes) -> None:
    """Look at what a call asks for that no technique can do anything with.

    Raises:
        RequestRejected: It asks for one all the same, in the model's name or by a wish.
    """
    wished = wishes.technique
    for name, at in ((wished, wishes.at("technique")), (slug if wished is None else None, "model")):
        if name is not None and name != _NONE:
            raise RequestRejected(
                f"{at} asks for {name[:64]!r}, and techniques work on conversations only.",
                code="technique_unsupported",
                param=at,
            )


def serving(call: Call, models: Iterable[Model], wishes: Wishes) -> Iterator[Model]:
    """Yield those of *models* that serve *call*: the first, and what can stand in for it.

    Raises:
        RequestRejected: The first does not, or another that was wished for.
    """
    for place, model in enumerate(models):
        why = _unfit(call.dialect, model)
        if why is None:
            yield model
        elif not place or wishes.fallbacks is not None:
            at = wishes.at("fallbacks") if place else "model"
            raise RequestRejected(why, code="unsupported_endpoint", param=at)


def _unfit(dialect: str, model: Model) -> str | None:
    """Return why *model* does not serve a call of *dialect*, None if it may."""
    embeds = model.target.capabilities.embeddings
    what, name = _WORDS.get(dialect), model.target.shown
    if what is None or dialect == COMPLETIONS:
        if embeds:
            return f"{name} makes embeddings and answers nothing; ask it at /v1/embeddings."
    elif embeds is False:
        return f"{name} makes no embeddings; ask it at /v1/chat/completions."
    if dialect == COMPLETIONS and model.simulated:
        return f"{name} is simulated, and has no legacy completions."
    if what is not None and model.channel.provider.dialect not in _HAVE[dialect]:
        return f"The provider of {name} has no {what}."
    return None
