"""What a row of the table of vendors is made of, and how the usual names are spelled."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from gateway.admission.reading import Dimension, Refill, Scope

MINUTE: float = 60
HOUR: float = 3600
DAY: float = 86_400
MONTH: float = 30 * DAY

Charge: TypeAlias = Literal["reserve_max", "reserve_larger", "actual", "unknown"]
"""What a call is charged: its input and all that it may produce; the larger of what it may produce
and of its size; what it has produced; or nobody knows."""

Extra: TypeAlias = Literal["unified", "ietf"]
"""Headers of a form of their own."""


@dataclass(frozen=True, slots=True)
class Window:
    """One window, as headers tell it; a name is empty where the vendor does not say.

    Attributes:
        period_by_reset: It may be longer than ``period_s``: told by how slowly it fills.
        rounded_to: The unit that what is left is rounded to; half of it is taken off.
        spare: Read only where no other row told the same window.
        part: It is such a part of the window that the headers tell of, for which it stands: nobody
            tells what is left of it.
    """

    dimension: Dimension
    period_s: float
    limit: str = ""
    remaining: str = ""
    reset: str = ""
    refill: Refill = "unknown"
    scope: Scope = "model"
    rounded_to: int = 0
    spare: bool = False
    period_by_reset: bool = False
    part: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Vendor:
    """A row of the table.

    Attributes:
        hosts: Ends of the host names that are this vendor's.
        windows: What its headers tell.
        extra: What they tell in a form of its own.
        marks: Headers that nobody else sends.
        charge: See ``Charge``.
        cached_input_free: Input that it had in its cache is not counted.
        failed_counts: It counts requests that it refused, too.
        refused: What a refusal is about that says nothing of it.
        traps: What one has to know, for the documents.
        sniffs: Nobody knows whose it is: each answer is read as what its headers look like.
        names: All headers that tell of limits.
    """

    name: str
    hosts: tuple[str, ...] = ()
    windows: tuple[Window, ...] = ()
    extra: tuple[Extra, ...] = ()
    marks: tuple[str, ...] = ()
    charge: Charge = "unknown"
    cached_input_free: bool = False
    failed_counts: bool = False
    refused: Dimension | None = None
    traps: str = ""
    sniffs: bool = False
    names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        told = (name for row in self.windows for name in (row.limit, row.remaining, row.reset))
        special = (name for form in self.extra for name in EXTRA_NAMES[form])
        object.__setattr__(self, "names", frozenset({*filter(None, told), *special}))


UNIFIED = "anthropic-ratelimit-unified-"
CLAIMS: dict[str, float] = {"5h": 5 * HOUR, "7d": 7 * DAY}
"""The windows of an Anthropic subscription."""
EXTRA_NAMES: dict[Extra, tuple[str, ...]] = {
    "unified": (
        *(f"{UNIFIED}{claim}-{part}" for claim in CLAIMS for part in ("utilization", "reset")),
        f"{UNIFIED}status",
        f"{UNIFIED}reset",
        f"{UNIFIED}representative-claim",
    ),
    "ietf": (
        "ratelimit",
        "ratelimit-policy",
        "ratelimit-limit",
        "ratelimit-remaining",
        "ratelimit-reset",
    ),
}


def named(dimension: Dimension, period_s: float, name: str, refill: Refill = "unknown") -> Window:
    """Return the window whose headers are *name* with limit, remaining and reset for ``{}``."""
    limit, remaining, reset = (name.format(part) for part in ("limit", "remaining", "reset"))
    return Window(dimension, period_s, limit, remaining, reset, refill)


def openai_like(
    dimension: Dimension, ending: str, period_s: float, refill: Refill = "unknown"
) -> Window:
    """Return the window ``x-ratelimit-{limit,remaining,reset}-ENDING``."""
    return named(dimension, period_s, "x-ratelimit-{}" + (f"-{ending}" if ending else ""), refill)


def anthropic_like(family: str, what: str, dimension: Dimension) -> Window:
    """Return the window ``anthropic-FAMILY-WHAT-{limit,remaining,reset}``."""
    row = named(dimension, MINUTE, f"anthropic-{family}-{what}-{{}}", "bucket")
    return row if dimension == "requests" else replace(row, rounded_to=1000)


def for_account(row: Window) -> Window:
    """Return *row* as one that all models of the account share."""
    return replace(row, scope="account")


def spare(row: Window) -> Window:
    """Return *row* as one that counts only where no other tells the same."""
    return replace(row, spare=True)


def of_some_length(row: Window) -> Window:
    """Return *row* as one whose length is not known: its reset tells."""
    return replace(row, period_by_reset=True)
