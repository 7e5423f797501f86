"""What an answer tells of its account's rate limits, in one form for all vendors."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Dimension: TypeAlias = Literal["requests", "tokens", "input_tokens", "output_tokens", "concurrency"]
"""What a window counts. ``tokens`` are input and output together."""

Refill: TypeAlias = Literal["bucket", "fixed", "unknown"]
"""How a window fills: continuously, at its boundary, or nobody said."""

Scope: TypeAlias = Literal["model", "account"]
"""Whether each model of an account has the window to itself, or all share it."""


class Reading(NamedTuple):
    """One window, as an answer shows it. None: it was not said.

    Attributes:
        period_s: Its length in seconds.
        limit: What it holds when full.
        remaining: What was left when the answer was sent, less a margin for rounding.
        reset_s: Seconds from the sending of the answer until the window is full (bucket) or begins
            anew (fixed); never negative.
        used: The part of it that is used up, where only that is said; 1 is all of it.
    """

    dimension: Dimension
    period_s: float | None = None
    limit: float | None = None
    remaining: float | None = None
    reset_s: float | None = None
    refill: Refill = "unknown"
    scope: Scope = "model"
    used: float | None = None


class Told(NamedTuple):
    """What one answer tells.

    Attributes:
        readings: At most one of each dimension, period and scope.
        retry_after_s: Seconds to wait before the next call, None if nothing was said.
        exhausted: The dimension and period that a refusal names as used up, None if it names none.
        never: A refusal that waiting does not mend: the allowance is nothing at all.
        unparsed: Names of headers that were there and could not be read.
    """

    readings: tuple[Reading, ...] = ()
    retry_after_s: float | None = None
    exhausted: tuple[Dimension, float | None] | None = None
    never: bool = False
    unparsed: tuple[str, ...] = ()


NOTHING_TOLD = Told()
