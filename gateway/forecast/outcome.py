"""What a walk keeps count of: who makes steps, what calls are under way, what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gateway.forecast.world import Lane, Shape, Taken
from pricing.cost import cost
from pricing.price import Price
from pricing.usage import Usage


@dataclass(slots=True)
class Sum:
    """The calls to one lane together.

    *tiered* is the price of the lane, where it hangs on the size of each call: what these cost is
    then ``charged``, one by one.
    """

    tiered: Price | None = None
    calls: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0
    charged: int = 0

    def add(self, usage: Usage) -> None:
        """Add one call."""
        self.calls += 1
        self.input += usage.input_tokens
        self.output += usage.output_tokens
        self.cached += usage.cache_read_tokens
        if self.tiered is not None:
            self.charged += cost(usage, self.tiered)

    def cost(self, price: Price) -> int:
        """Return the picodollars of all of them."""
        if self.tiered is not None:
            return self.charged
        usage = Usage(self.input, self.output, self.cached)
        return cost(usage, price) + price.per_request * (self.calls - 1)


@dataclass(slots=True)
class Outcome:
    """What came of a walk; times are milliseconds, amounts are of all agents together.

    ``wall_ms``, ``work_ms`` and ``waiting_ms`` are of the agent that was done last. ``wall_step``
    is the step that does not fit into a window or the context, ``broke_step`` the one for which a
    budget leaves too little: there an agent ends. ``bound`` is how long calls waited for windows.
    """

    steps: int = 0
    sums: dict[int, Sum] = field(default_factory=dict)
    wall_ms: float = 0.0
    work_ms: float = 0.0
    waiting_ms: float = 0.0
    holds: int = 0
    suspensions: int = 0
    wall_step: int | None = None
    broke_step: int | None = None
    bound: dict[int, float] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input + self.output

    @property
    def input(self) -> int:
        """Tokens of input of all calls."""
        return sum(it.input for it in self.sums.values())

    @property
    def output(self) -> int:
        """Tokens of output of all calls."""
        return sum(it.output for it in self.sums.values())

    def cost(self, lanes: Sequence[Lane]) -> int:
        """Return the picodollars of all calls, to *lanes* whose prices are known."""
        total = 0
        for lane, calls in self.sums.items():
            price = lanes[lane].price
            total += 0 if price is None else calls.cost(price)
        return total


@dataclass(slots=True)
class Agent:
    """One that makes the steps, as far as it has come."""

    input: int
    done: int = 0
    shape: Shape = ()
    wave: int = 0
    open: int = 0
    began: float = 0.0
    longest: float = 0.0
    answer: int = 0
    work: float = 0.0
    waiting: float = 0.0
    stopped: bool = False
    kept: tuple[int, ...] = ()


@dataclass(slots=True)
class Call:
    """A call that waits or is under way; of others it has no agent.

    ``slots`` are those of its lane's windows that it is in, by their order.
    """

    agent: Agent | None
    usage: Usage
    taken: Taken
    asked: float
    lane: int
    slots: Sequence[int]
    lasts: float
    leads: bool = False
    granted: float = 0.0
    binding: int = -1
