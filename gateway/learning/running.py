"""Carries a study out: through the pipeline, as a request of its own that no client made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from secrets import token_hex
from time import perf_counter
from typing import Final

from pydantic import BaseModel

from gateway.learning.traces import usd
from gateway.metering.caps import Caps
from gateway.metering.facts import LEARNING
from gateway.metering.ledger import CallFinished, Ledger, Meter, RequestBegun, RequestFinished
from gateway.pipeline import Asked, Pipeline
from gateway.planning.plan import Plan
from gateway.policy.keys import Caller
from gateway.policy.models import Model
from gateway.policy.wishes import Wishes
from gateway.wire.dialect import Call
from techniques.core.errors import GatewayError
from techniques.core.registry import Card

LEARNER: Final = Caller(priority=9)
"""Who calls to learn: nobody's key pays for it, and everybody else goes first."""
_WISHES: Final = Wishes(tags=LEARNING, technique="none")


@dataclass(frozen=True, slots=True)
class Study:
    """What is to be asked about *call*: of which model, of whom else, and who judges."""

    call: Call
    model: Model
    card: Card
    options: BaseModel
    pool: tuple[Model, ...] = ()
    judge: Model | None = None
    valuer: Model | None = None


@dataclass(frozen=True, slots=True)
class Studied:
    """What that took, and why it failed, if it did."""

    rows: Sequence[CallFinished]
    failure: GatewayError | None = None

    @property
    def usd(self) -> float:
        """What it cost, as far as that is known."""
        return usd(self.rows)


@dataclass(frozen=True, slots=True)
class Laboratory:
    """Where studies are carried out; ``meters`` count what they cost.

    ``current`` gives the pipeline as it is at the moment.
    """

    current: Callable[[], Pipeline]
    meters: tuple[Meter, ...] = ()

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline."""
        return self.current()

    async def carry_out(self, study: Study) -> Studied:
        """Carry *study* out; what it finds it writes down itself."""
        request_id, began = f"learn-{token_hex(12)}", perf_counter()
        asked = Asked(study.call, LEARNER, _WISHES, request_id=request_id)
        plan, ledger = _plan(study), Ledger(self.meters)
        ledger.record(RequestBegun(LEARNING))
        failure: GatewayError | None = None
        try:
            async with self.pipeline.answer(asked, plan, ledger) as events:
                async for _ in events:
                    pass
        except GatewayError as error:
            failure = error
        finally:
            ended = _ended(asked, plan, ledger, perf_counter() - began)
            status = 200 if failure is None else 502
            outcome = "success" if failure is None else "upstream_error"
            ledger.record(ended._replace(status=status, outcome=outcome))
        return Studied(tuple(ledger.rows), failure)


def _plan(study: Study) -> Plan:
    model = study.model
    others = (one for one in study.pool if one.name != model.name)
    return Plan(
        models=(model,),
        card=study.card,
        options=study.options,
        pool=(model, *others),
        judge=study.judge,
        critic=study.valuer,
        caps=Caps(),
        rescue=False,
        why=LEARNING,
    )


def _ended(asked: Asked, plan: Plan, ledger: Ledger, seconds: float) -> RequestFinished:
    return RequestFinished(
        request_id=asked.request_id,
        run=asked.request_id,
        session=None,
        tags=asked.wishes.tags,
        key=None,
        dialect=LEARNING,
        model=plan.model.name,
        provider=plan.model.target.provider,
        technique=plan.technique,
        streamed=False,
        outcome="success",
        status=200,
        rows=tuple(ledger.rows),
        warnings=tuple(ledger.warnings),
        seconds=seconds,
        begun_s=None,
        decode_s=0.0,
        plan_s=0.0,
        cancel_s=None,
    )
