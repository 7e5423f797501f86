"""Agents whose contexts grow, at an account of their own, in a time that is only counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from prometheus_client import CollectorRegistry

from gateway.admission.limits import VENDORS
from gateway.admission.need.charge import charge, charged
from gateway.admission.need.conformal import Conformal
from gateway.admission.need.traits import Traits
from gateway.admission.need.value import SubCall, Timing
from gateway.forecast.asked import read
from gateway.forecast.calibration import Calibration
from gateway.forecast.forecaster import Forecaster
from gateway.forecast.habits import Habits
from gateway.forecast.live import Known
from gateway.metering.meters.forecast import ForecastMeter
from gateway.pacing.pacer import Pacer
from gateway.planning.plan import Defaults
from gateway.planning.planner import Planner
from gateway.policy.keys import OPEN, Caller
from gateway.policy.models import Catalogue, Model
from gateway.stores.ledger import Ask, Entry, Settlement, Waiting, WindowSpec
from gateway.stores.memory import MemoryLedger
from gateway.upstream.account import Account
from gateway.upstream.provider import Target
from pricing.price import Price
from pricing.usage import Usage
from techniques.core.capabilities import Capabilities
from techniques.core.json import Json
from tests.gateway.pacing.provider import Provider
from tests.gateway.pacing.scene import PRICE, Straight, per_minute

BYTES = 4
HOUR_MS = 3_600_000.0
USUAL = 150


@dataclass(frozen=True)
class Case:
    """A run: how many steps, tokens of the first input and of each turn, and the account's size."""

    steps: int = 8
    first: int = 500
    growth: int = 50
    tpm: int = 6000
    spread: float = 0.4

    @staticmethod
    def drawn(seed: int) -> Case:
        """Return one of many cases: most of them have to wait."""
        dice = Random(seed)
        first = dice.randrange(200, 1200)
        return Case(
            dice.randrange(6, 12), first, dice.randrange(20, 120), dice.randrange(4000, 9000)
        )


@dataclass
class World:
    """An account, agents that call it, and what is forecast of them; ``now`` is milliseconds."""

    case: Case = field(default_factory=Case)
    seed: int = 0
    windows: tuple[WindowSpec, ...] | None = None
    vendor: str = "generic"
    price: Price | None = PRICE
    context: int | None = None
    now: float = 0.0

    def __post_init__(self) -> None:
        self.dice = Random(self.seed)
        declared = self.windows
        if declared is None:
            declared = (per_minute("tokens", self.case.tpm),)
        self.ledger = MemoryLedger(lambda: int(self.now))
        self.predictor = Conformal()
        self.account = Account("acme", VENDORS[self.vendor], declared)
        self.pacer = Pacer(self.ledger, self.predictor)
        self.count = 0
        target = Target("fast", "acme", "real-fast", Capabilities(context=self.context))
        channel = Straight(Provider(), target)
        model = Model(channel, self.price, account=self.account)  # type: ignore[arg-type]
        planner = Planner(Catalogue([model]), {}, Defaults())
        self.registry = CollectorRegistry()
        meter = ForecastMeter(self.registry)
        self.habits, self.calibration = Habits(), Calibration(meter, lambda: self.now / 1000)
        known = Known(self.pacer, self.habits)
        self.forecaster = Forecaster(planner, known, self.calibration, meter)

    async def open(self) -> None:
        """Have all windows full."""
        await self.ledger.define(self.account.pool, self.account.unseen({}))
        self.now += HOUR_MS

    async def learn(self, calls: int = 200) -> None:
        """Make calls of all sizes that the run will have, an hour before anything is asked."""
        case = self.case
        await self.open()
        for place in range(calls):
            await self.call(case.first + (place * case.steps * 200) // calls)
            self.now += 60_000
        self.now += HOUR_MS

    async def call(self, tokens: int) -> Usage:
        """Make one call with an input of *tokens*, when there is room for it."""
        traits = Traits(text_bytes=BYTES * tokens, framed=True)
        call = SubCall("fast", "none", "answer", traits, whole=True)
        need = self.predictor.need(call)
        self.count += 1
        lease, pool = f"l{self.count}", self.account.pool
        needs = self.account.needs("real-fast", charge(self.account.rule, need, traits))
        held = self.account.fitted(needs, tokens)
        answer = await self.ledger.admit(pool, Entry((Ask(lease, held),)), dispatched=True)
        while isinstance(answer, Waiting):
            self.now += max(answer.eta_ms or 1, 1)
            answer = await self.ledger.check(pool, lease)
        self.ledger.dispatch(pool, (lease,))
        output = max(int(USUAL * self.dice.lognormvariate(0, self.case.spread)), 1)
        usage, seconds = Usage(tokens, output), 0.3 + 0.01 * output
        self.now += 1000 * seconds
        used = charged(self.account.rule_after, usage, traits)
        self.ledger.settle(pool, Settlement(lease, self.account.needs("real-fast", used)))
        self.predictor.record(call, need, usage, Timing(0.3, seconds))
        return usage

    async def run(self) -> tuple[float, int]:
        """Make the run; return its seconds and its tokens."""
        began, tokens, context = self.now, 0, self.case.first
        for _ in range(self.case.steps):
            usage = await self.call(context)
            tokens += usage.total_tokens
            context += usage.output_tokens + self.case.growth
        return (self.now - began) / 1000, tokens

    async def forecast(self, caller: Caller = OPEN, **more: Json) -> Json:
        """Return what is told of this run; None takes a field out of the question."""
        body = {
            "model": "fast",
            "steps": self.case.steps,
            "tokens_per_step": self.case.first + USUAL,
            "growth_per_step": self.case.growth,
            **more,
        }
        asked = read({name: value for name, value in body.items() if value is not None})
        return await self.forecaster.forecast(asked, caller)
