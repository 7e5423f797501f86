"""What a forecast walks through: windows as they are, models as they answer, a run to be made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias, cast

from gateway.admission.need.charge import ChargeRule, charge, charged
from gateway.admission.need.traits import Traits
from gateway.admission.need.value import Need
from gateway.admission.purse import Purse
from gateway.admission.windows import Window
from pricing.cost import cost
from pricing.price import Price
from pricing.usage import Usage

AnyWindow: TypeAlias = Window | Purse

_BYTES_PER_TOKEN: Final = 4


class Charged(NamedTuple):
    """A window that calls to a model are in: its place in the world, and what it counts.

    ``own``: it is the caller's; who is beyond it is refused and not held. ``by_step``: a step takes
    of it once, with its first call.
    """

    place: int
    dimension: str
    own: bool = False
    by_step: bool = False


class Taken(NamedTuple):
    """What one call takes of the windows of its lane, in their order: held, then used."""

    held: Sequence[int]
    used: Sequence[int]


@dataclass(frozen=True, slots=True)
class Lane:
    """A model, as calls to it go.

    Attributes:
        group: Models that share a window are of one group, and wait in one line.
        outputs: Tokens that answers came to, of which each is as likely as any other.
        firsts: Seconds until answers began; empty where nobody knows.
        paces: Seconds for each token of them.
        bound: Output tokens that are held for a call.
        spread: Input tokens that are held for each that is used.
        rules: What the provider deducts when a call is sent, and once it is done.
        context: Tokens of input and output together, None if not known.
        equals: The lanes of other accounts that serve the same, any of which may take a call.
    """

    name: str
    group: int
    charged: tuple[Charged, ...]
    outputs: tuple[float, ...]
    firsts: tuple[float, ...]
    paces: tuple[float, ...]
    bound: int
    spread: float
    traits: Traits
    rules: tuple[ChargeRule, ChargeRule]
    price: Price | None
    context: int | None
    equals: tuple[int, ...] = ()

    def has_room(self, tokens: int) -> bool:
        """Return whether an input of *tokens* fits into the context, with all that is allowed."""
        return self.context is None or tokens + (self.traits.max_tokens or 1) <= self.context

    def most_output(self, tokens: int) -> int:
        """Return how long an answer can be beside an input of *tokens*."""
        most = self.traits.max_tokens or 2**40
        return most if self.context is None else max(min(most, self.context - tokens), 1)

    def taken(self, usage: Usage, caps: Sequence[float]) -> Taken:
        """Return what a call of *usage* takes of windows that hold *caps* when full."""
        before, after = self.rules
        entry, traits = usage.input_tokens, self.traits
        most = max(self.bound, traits.max_tokens or 0)
        need = Need(int(entry * self.spread), self.bound, 0, most, usage.cache_read_tokens)
        sized = traits._replace(text_bytes=_BYTES_PER_TOKEN * entry)
        holds = cast("Mapping[str, int]", charge(before, need, sized))
        uses = cast("Mapping[str, int]", charged(after, usage, sized))
        held, used = [], []
        for place, dimension, own, _ in self.charged:
            hold, use = holds.get(dimension, 1), uses.get(dimension, 1)
            if own and dimension == "usd":
                hold, use = self._money(need, usage)
            elif own and dimension == "tokens":
                hold, use = need.total, usage.total_tokens
            elif hold > caps[place] >= entry:
                hold = int(caps[place])  # a bound is no promise: the call goes alone
                use = min(use, max(hold, usage.total_tokens))
            held.append(hold)
            used.append(use)
        return Taken(held, used)

    def _money(self, need: Need, usage: Usage) -> tuple[int, int]:
        """Return the most that a call may cost, and what it does, in picodollars."""
        if self.price is None:
            return 0, 0
        spent = cost(usage, self.price)
        return max(cost(Usage(need.input, need.most), self.price), spent), spent


class Part(NamedTuple):
    """One call of a step, to a lane.

    ``ratio`` is its input as a part of the step's, ``cached`` how much of it the provider has.
    """

    lane: int
    ratio: float = 1.0
    cached: float = 0.0


Shape: TypeAlias = tuple[tuple[Part, ...], ...]
"""The calls of one step: those of a wave go at once, waves go one after the other."""


class Flying(NamedTuple):
    """Calls of others that are under way, by window: how many, and what comes back of each."""

    place: int
    calls: int
    each: float


@dataclass(frozen=True, slots=True)
class Journey:
    """The run that is asked about.

    ``input`` is the tokens of the first step's input; each further one is larger by the answer
    before it and by ``growth``, unless the context does not grow.
    """

    steps: int
    input: int
    growth: int = 0
    grows: bool = True
    agents: int = 1


@dataclass(frozen=True, slots=True)
class World:
    """All that a walk goes by. Windows are copied for each, and stand at time 0.

    Attributes:
        shapes: What steps were made of, of which each is as likely as any other.
        queued: The calls that wait before ours: their lanes, and their tokens of input.
        names: What each window is called, for people.
        patience_ms: A call is held for so long; for longer it is given back, to come again.
    """

    windows: tuple[AnyWindow, ...]
    names: tuple[str, ...]
    lanes: tuple[Lane, ...]
    shapes: tuple[Shape, ...]
    queued: tuple[tuple[int, int], ...] = ()
    flying: tuple[Flying, ...] = ()
    patience_ms: float = 55_000.0
