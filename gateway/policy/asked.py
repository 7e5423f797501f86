"""What an administrator may ask for: keys, teams and budgets, checked before anything is done."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field, ValidationError, model_validator

from gateway.config import BudgetConfig, CapsConfig
from gateway.config.callers import Dollars, one_a_period
from gateway.config.values import Moment, Zone
from gateway.stores.database.rows import MOST, instant
from pricing.price import PICO
from router_service.groundwork.section import Section

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$")]
"""The name of a key or a team: up to 64 letters, digits, and ``._@-``."""

Limit = Annotated[int, Field(gt=0, le=10**15)]


class Faulty(Exception):
    """What was asked for is wrong; ``param`` is the field that is."""

    def __init__(self, param: str, message: str) -> None:
        super().__init__(f"{param}: {message}" if param else message)
        self.param = param


class KeyChange(Section):
    """What is to be changed of a key; a field that is not there stays, null takes a limit away."""

    team: str | None = None
    models: tuple[str, ...] | None = None
    techniques: tuple[str, ...] | None = None
    priority: int = Field(5, ge=0, le=9)
    weight: float = Field(1.0, gt=0, le=1000)
    rpm: Limit | None = None
    tpm: Limit | None = None
    concurrency: Limit | None = None
    journal: Literal["memory"] | None = None
    expires: Moment | None = None
    caps: CapsConfig = CapsConfig()

    def columns(self) -> dict[str, Any]:
        """Return the fields that were given, as the database names and keeps them."""
        given = {name: getattr(self, name) for name in self.model_fields_set & _COLUMNS}
        if (expires := given.get("expires")) is not None:
            given["expires"] = instant(expires.timestamp())
        for name in self.caps.model_fields_set if "caps" in self.model_fields_set else ():
            value = getattr(self.caps, name)
            if name == "max_cost_usd":
                given["max_cost"] = None if value is None else min(int(value * PICO), MOST)
            else:
                given[name] = value
        return given


class _Budgeted(Section):
    name: Name
    budget: BudgetConfig | None = None
    budgets: tuple[BudgetConfig, ...] = ()

    @property
    def all_budgets(self) -> tuple[BudgetConfig, ...]:
        """All of its budgets."""
        return self.budgets if self.budget is None else (self.budget, *self.budgets)

    @model_validator(mode="after")
    def _one_a_period(self) -> _Budgeted:
        one_a_period(self.all_budgets)
        return self


class NewKey(KeyChange, _Budgeted):
    """A key that is to be made."""


class NewTeam(_Budgeted):
    """A team that is to be made."""


class NewBudget(BudgetConfig):
    """A budget that is to be made, of a ``key`` or of a ``team``."""

    key: str | None = None
    team: str | None = None

    @model_validator(mode="after")
    def _one_owner(self) -> NewBudget:
        if (self.key is None) == (self.team is None):
            raise ValueError("give either key or team")
        return self


class BudgetChange(Section):
    """What is to be changed of a budget."""

    usd: Dollars | None = None
    tz: Zone | None = None


_COLUMNS: Final = frozenset(KeyChange.model_fields) - {"caps"}


def fault_of(error: ValidationError) -> Faulty:
    """Return the first fault that *error* tells of."""
    fault = error.errors(include_url=False, include_input=False)[0]
    param = ".".join(map(str, fault["loc"]))
    if fault["type"] == "extra_forbidden":
        return Faulty(param, "there is no such field")
    message = fault["msg"].removeprefix("Value error, ")
    return Faulty(
        param, message.replace("Input should be", "must be").replace("Field required", "is missing")
    )
