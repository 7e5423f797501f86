"""A sub-call, what it is expected to use, and how that compares with what it used.

Those that are made for each sub-call are named tuples: they take a fifth of the time to make.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from gateway.admission.need.traits import Traits
from pricing.record import record

Ground: TypeAlias = Literal["calls", "role", "model", "limit", "default"]
"""What a bound rests on: calls just like this one, those of its role or of its model, the most
that it may have, or nothing but a stated default."""


class SubCall(NamedTuple):
    """A sub-call before it is sent. Names are the configuration's.

    Attributes:
        model: The operator's name for it.
        use: The technique or route that it is made for.
        role: Its part in that.
        whole: Its answer comes in one piece.
        most_output: What the model is stated to give at most, None if it was not said.
        at_s: The present, in seconds of any clock; cached prefixes are forgotten by it.
    """

    model: str
    use: str
    role: str
    traits: Traits
    whole: bool = False
    most_output: int | None = None
    at_s: float = 0.0


class Need(NamedTuple):
    """What a sub-call will use, in tokens.

    Attributes:
        input: Its input is hardly ever more.
        output: Its output, over all choices, is hardly ever more.
        likely: What half of the calls like it stay below in output.
        most: Its output cannot be more: what the caller allows, what the model gives, else
            ``output``.
        cached: How much of ``input`` the provider will read from its cache, as it has before.
        ground: What ``output`` rests on.
        learned: The bound that was learned, before it was cut down to ``most``.
        usual: What 99 of 100 calls like it stay below in output; 0 if it is not known.
        oversized: The caller allows more than four times ``usual``.
    """

    input: int
    output: int
    likely: int
    most: int
    cached: int = 0
    ground: Ground = "default"
    learned: int = 0
    usual: int = 0
    oversized: bool = False

    @property
    def total(self) -> int:
        """Input and output together, as bounds."""
        return self.input + self.output


class Fit(NamedTuple):
    """How a need compares with what was used: for coverage, misses and how much is held in vain.

    Attributes:
        input_missed: More input was used than was bounded.
        output_missed: More output was used than was bounded.
        held: The bounds of input and output together.
        used: What was used of both.
        share: The quantile by which the next bound of output is taken, None if nothing was learned.
        ground: What the bound of output rested on.
    """

    input_missed: bool
    output_missed: bool
    held: int
    used: int
    share: float | None
    ground: Ground

    @property
    def ratio(self) -> float | None:
        """How many tokens were held for each that was used; None if none was."""
        return self.held / self.used if self.used else None


@record(frozen=True, slots=True)
class Timing:
    """How long an answer took, in seconds: until it began, and in all."""

    first_s: float
    total_s: float


@dataclass(frozen=True, slots=True)
class Latency:
    """How long a sub-call will take, in seconds. ``first_s`` and ``token_s`` are bounds."""

    first_s: float
    token_s: float
    likely_first_s: float
    likely_token_s: float

    def until_done(self, output: int) -> float:
        """Return what an answer of *output* tokens hardly ever takes longer than."""
        return self.first_s + output * self.token_s

    def likely(self, output: int) -> float:
        """Return what an answer of *output* tokens takes, half of the time at most."""
        return self.likely_first_s + output * self.likely_token_s


class Past(NamedTuple):
    """What calls like one came to, the oldest first; empty of what too few have told.

    Attributes:
        outputs: Tokens of one answer.
        firsts: Seconds until an answer began.
        paces: Seconds for each token of it.
        ratio: Tokens of input for each byte, half of the time at most; None: not known.
    """

    outputs: tuple[float, ...] = ()
    firsts: tuple[float, ...] = ()
    paces: tuple[float, ...] = ()
    ratio: float | None = None
