"""Who calls, and what each may use and spend: keys, and the teams that they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, model_validator

from gateway.config.context import ContextConfig
from gateway.config.names import means_any, twice
from gateway.config.periods import Period
from gateway.config.values import Moment, Zone
from pricing.rates import Rate
from router_service.groundwork.section import Section

Dollars = Annotated[Decimal, Field(ge=0, le=9_000_000)]
"""An amount of money that the database can hold in picodollars."""

EVERYONE = "*"
"""Stands for all keys of a team, so none may be called that."""


class CapsConfig(Section):
    """Caps over one whole run, technique, retries and fallbacks together."""

    max_calls: int | None = Field(None, ge=1)
    max_cost_usd: Rate | None = None
    deadline_ms: int | None = Field(None, ge=1)


class BudgetConfig(Section):
    """Dollars over a calendar period; weeks begin on Monday, days at midnight in ``tz``."""

    usd: Dollars
    period: Period = "month"
    tz: Zone = "UTC"


class TeamConfig(Section):
    """Keys that share budgets, beside those that each may have."""

    name: str = Field(min_length=1)
    budget: BudgetConfig | None = None
    budgets: tuple[BudgetConfig, ...] = ()

    @property
    def all_budgets(self) -> tuple[BudgetConfig, ...]:
        """All of its budgets."""
        return _all(self.budget, self.budgets)

    @model_validator(mode="after")
    def _one_a_period(self) -> TeamConfig:
        one_a_period(self.all_budgets)
        return self


class KeyConfig(Section):
    """A caller. ``models`` and ``techniques`` it may use; None: all of them.

    ``weight`` is its share among those that wait for the same limits, ``context`` what is done with
    its long conversations (None: as with all). With ``journal: memory`` what is kept of its runs
    is kept in the memory of the process alone. From ``expires`` on it is refused; None: it is good
    until it is taken away.
    """

    name: str = Field(min_length=1)
    hash: str = Field(pattern=r"^hmac-sha256:[0-9a-f]{64}$")
    team: str | None = None
    models: tuple[str, ...] | None = None
    techniques: tuple[str, ...] | None = None
    budget: BudgetConfig | None = None
    budgets: tuple[BudgetConfig, ...] = ()
    rpm: int | None = Field(None, gt=0)
    tpm: int | None = Field(None, gt=0)
    concurrency: int | None = Field(None, gt=0)
    priority: int = Field(5, ge=0, le=9)
    weight: float = Field(1.0, gt=0, le=1000)
    caps: CapsConfig = CapsConfig()
    context: ContextConfig | None = None
    journal: Literal["memory"] | None = None
    expires: Moment | None = None

    @property
    def all_budgets(self) -> tuple[BudgetConfig, ...]:
        """All of its budgets."""
        return _all(self.budget, self.budgets)

    @model_validator(mode="after")
    def _one_a_period(self) -> KeyConfig:
        one_a_period(self.all_budgets)
        return self


def unfit_callers(
    keys: Sequence[KeyConfig], teams: Sequence[TeamConfig], models: set[str]
) -> Iterator[str]:
    """Yield what names something that is not there, or is named as another is."""
    names, hashes = [key.name for key in keys], [key.hash for key in keys]
    if len(set(names)) < len(names) or len(set(hashes)) < len(hashes):
        yield "keys: two have the same name or hash"
    known = [team.name for team in teams]
    there = set(known)
    if len(there) < len(known):
        yield f"teams: two have the same name, {twice(known)!r}"
    for key in keys:
        if key.name == EVERYONE:
            yield f"keys.{key.name}.name: stands for all keys of a team; choose another"
        if key.team is not None and key.team not in there:
            yield f"keys.{key.name}.team: there is no team {key.team!r}"
        for name in key.models or ():
            if not means_any(models, name):
                yield f"keys.{key.name}.models: there is no model {name!r}"


def _all(one: BudgetConfig | None, several: tuple[BudgetConfig, ...]) -> tuple[BudgetConfig, ...]:
    return several if one is None else (one, *several)


def one_a_period(budgets: Sequence[BudgetConfig]) -> None:
    """Check that no two of *budgets* are over the same sort of period.

    Raises:
        ValueError: Two are.
    """
    periods = [budget.period for budget in budgets]
    if len(set(periods)) < len(periods):
        raise ValueError(f"two budgets have the same period, {twice(periods)!r}")
