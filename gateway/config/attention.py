"""How often agents may use a tool, and whom they may ask how often."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, SecretStr, model_validator

from gateway.config.callers import KeyConfig
from gateway.config.values import Seconds
from router_service.groundwork.section import Section

Refill: TypeAlias = Literal["rolling", "continuous", "fixed"]
"""How uses come back: each its period after it was made, evenly, or all at a boundary."""

ToolAction: TypeAlias = Literal["annotate", "refuse_turn", "hold_result"]

MOST_ROLLING: Final = 1000
_WEEK_S: Final = 7 * 86_400
_NOBODY: Final = frozenset({"system", "auto", "bot", "admin"})
"""Names that stand for no person."""

Period = Annotated[Seconds, Field(ge=0.001, le=_WEEK_S)]


class ToolConfig(Section):
    """How often one tool may be used: ``calls`` in any ``period``, of each key or of all together.

    A ``rolling`` quota has up to 1,000 calls, for each of them is a window of its own.
    """

    calls: int = Field(gt=0, le=10**9)
    period: Period = 60.0
    refill: Refill = "rolling"
    per: Literal["key", "global"] = "key"

    @model_validator(mode="after")
    def _few_enough(self) -> ToolConfig:
        if self.refill == "rolling" and self.calls > MOST_ROLLING:
            raise ValueError(
                f"a rolling quota has up to {MOST_ROLLING} calls; use continuous or fixed"
            )
        return self


class ToolQuotaConfig(Section):
    """Quotas of tools, by their names, and what becomes of a model's turn that calls one too often.

    ``annotate`` tells the client of it, ``refuse_turn`` gives an error instead of the turn,
    ``hold_result`` keeps the turn back until the tool may be used, as long as a call may be held.
    """

    action: ToolAction = "annotate"
    tools: Mapping[str, ToolConfig] = {}


class PersonConfig(Section):
    """A person who can be asked. ``hash`` is that of the token by which they are known.

    With a ``webhook`` they are told of what is asked; it is signed with ``webhook_secret``.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$")
    hash: str = Field(pattern=r"^hmac-sha256:[0-9a-f]{64}$")
    asks: int | None = Field(None, gt=0, le=MOST_ROLLING)
    period: Period | None = None
    webhook: str | None = None
    webhook_secret: SecretStr | None = None

    @model_validator(mode="after")
    def _is_somebody(self) -> PersonConfig:
        if self.name.lower() in _NOBODY:
            raise ValueError(f"{self.name!r} is nobody's name")
        if (self.webhook is None) != (self.webhook_secret is None):
            raise ValueError("webhook and webhook_secret go together")
        return self


class AttentionConfig(Section):
    """People, and how often each is asked: ``asks`` in any ``period``, where they say no other.

    A question stands for ``expires``. A webhook is tried ``attempts`` times, ``retry_s`` after the
    first and each time four times as long; private addresses only with ``allow_private``.
    """

    persons: tuple[PersonConfig, ...] = ()
    asks: int = Field(3, gt=0, le=MOST_ROLLING)
    period: Period = 3600.0
    expires: Seconds = Field(86_400.0, gt=0, le=30 * 86_400)
    attempts: int = Field(5, ge=1, le=10)
    retry_s: Seconds = Field(5.0, gt=0, le=600)
    allow_private: bool = False


def unfit_persons(stated: AttentionConfig, keys: Sequence[KeyConfig]) -> Iterator[str]:
    """Yield what of the persons is there twice, or is a key as well."""
    names = [person.name for person in stated.persons]
    hashes = [person.hash for person in stated.persons]
    if len(set(names)) < len(names) or len(set(hashes)) < len(hashes):
        yield "attention.persons: two have the same name or hash"
    if not {key.hash for key in keys}.isdisjoint(hashes):
        yield "attention.persons: one has the hash of a key; a person has a token of their own"
