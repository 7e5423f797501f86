"""Calls to a provider that is played, through everything that paces them, on virtual time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import anyio

from gateway.admission.limits import VENDORS
from gateway.admission.need.conformal import Conformal
from gateway.admission.verdict import Patience
from gateway.channels.admitted import AdmittedChannel
from gateway.channels.metered import MeteredChannel
from gateway.metering.ledger import Fact, Ledger
from gateway.metering.meters.durable import Whose
from gateway.pacing.pacer import Pacer, PacingPolicy
from gateway.pacing.run import Run
from gateway.pacing.standing import Standing
from gateway.policy.keys import OPEN, Caller
from gateway.policy.models import Model
from gateway.stores.ledger import WindowSpec
from gateway.stores.memory import MemoryLedger
from gateway.upstream.account import Account
from gateway.upstream.provider import Target
from pricing.price import Price
from techniques.core.channel import Channel
from techniques.core.request import Request, said

TARGET = Target("fast", "acme", "real-fast")
QUESTION = Request("real-fast", (said("user", "hello there"),))
PRICE = Price(1_000_000, 2_000_000)


def now_ms() -> int:
    """Return the virtual time in milliseconds."""
    return int(anyio.current_time() * 1000)


def per_minute(dimension: str, cap: int, model: str = "*") -> WindowSpec:
    """Return a window that refills *cap* in a minute."""
    return WindowSpec(f"{model}:{dimension}:60", "bucket", cap, 60_000)


@dataclass
class Paced:
    """One account and what paces calls to it."""

    declared: tuple[WindowSpec, ...] = ()
    vendor: str = "generic"
    policy: PacingPolicy = field(default_factory=PacingPolicy)
    facts: list[Fact] = field(default_factory=list)
    price: Price | None = PRICE

    def __post_init__(self) -> None:
        self.store = MemoryLedger(now_ms)
        self.account = Account("acme", VENDORS[self.vendor], self.declared)
        self.pacer = Pacer(self.store, Conformal(), self.policy)
        self.count = 0

    def run(self, caller: Caller = OPEN, patience: Patience | None = None, **standing: Any) -> Run:
        """Return a new request of *caller*."""
        self.count += 1
        stands = Standing(
            whose=Whose(f"run{id(self)}-{self.count}", "run", caller.name, caller.team),
            use="none",
            tenant=caller.name or "",
            priority=5,
            weight=1.0,
            came=anyio.current_time() if standing.pop("now", True) else 0.0,
            patience=patience or Patience(300.0),
        )
        ledger = Ledger((self.facts.append,))
        self.ledger = ledger
        return Run(self.pacer, replace(stands, **standing), ledger, self.pacer.purse(caller))

    def model(self, inner: Channel) -> Model:
        """Return the model whose calls go to *inner*."""
        return Model(Straight(inner), self.price, account=self.account)  # type: ignore[arg-type]

    def channel(self, inner: Channel, run: Run | None = None) -> Channel:
        """Return the way to *inner* in *run*, or in a run of its own."""
        return _Late(self, inner, run)


@dataclass(frozen=True)
class Straight:
    """Stands in the place of an HTTP channel."""

    inner: Channel
    target: Target = TARGET

    def open(self, request: Request) -> Any:
        return self.inner.open(request)


@dataclass(frozen=True)
class _Late:
    """Makes its run when it is opened: before there is no time."""

    paced: Paced
    inner: Channel
    run: Run | None

    def open(self, request: Request) -> Any:
        run = self.run or self.paced.run()
        ledger = self.paced.ledger
        metered = MeteredChannel(self.inner, TARGET, self.paced.price, ledger)
        return AdmittedChannel(metered, self.paced.model(self.inner), run).open(request)
