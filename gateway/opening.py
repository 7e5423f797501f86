"""Opens what paces calls: the ledger of windows, the pacer over it, and what runs beside them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial

import anyio

from gateway.admission.legacy.estimator import Terms
from gateway.admission.need.conformal import Conformal
from gateway.admission.need.sigma import Legacy
from gateway.clock import utc_now
from gateway.config import Config
from gateway.keeping import Durable
from gateway.metering.meters.money import MoneyMeter
from gateway.metering.meters.pacing import PacingMeter
from gateway.metering.meters.store import StoreMeter
from gateway.pacing.burning import standing
from gateway.pacing.keeper import Keeper
from gateway.pacing.pacer import Pacer, PacingPolicy
from gateway.pacing.purse import Spent
from gateway.pacing.recovery import Recovery
from gateway.policy.budgets import Budget
from gateway.stores.guarded import GuardedLedger
from gateway.stores.ledger import LedgerStore, StoreLost
from gateway.stores.opening import ledger_of
from gateway.upstream.account import Account
from techniques.core.groups import task_group


@dataclass(frozen=True, slots=True)
class Meters:
    """What is told of windows, of budgets and of the stores."""

    pacing: PacingMeter
    money: MoneyMeter
    store: StoreMeter


@dataclass(frozen=True, slots=True)
class Pacing:
    """What paces calls, whatever the configuration says of it at the moment."""

    pacer: Pacer
    ledger: LedgerStore

    def under(self, config: Config, durable: Durable | None) -> Pacer | None:
        """Return what paces by *config*; None: nothing is held back."""
        if config.pacing.mode == "off" and not _has_own_limits(config, durable):
            return None
        return self.pacer.under(_policy(config))

    async def restate(self, accounts: Iterable[Account]) -> None:
        """Give the windows of *accounts* that there are the sizes that are stated now."""
        for account in accounts:
            with suppress(StoreLost):  # what is lost is defined as it is stated when it is back
                there = await self.ledger.peek(account.pool)
                await self.ledger.define(account.pool, account.stated(there.windows))

    def lost(self) -> list[str]:
        """Return what of it is lost now, as ``/readyz`` tells it."""
        gone = isinstance(self.ledger, GuardedLedger) and self.ledger.lost
        return ["store"] if gone else []


def pacing_labels(config: Config) -> tuple[list[tuple[str, str]], dict[tuple[str, str], str]]:
    """Return the models of *config* with their providers, and our names of providers' models."""
    served = [(row, name) for row in config.models for name in (row.provider, *row.accounts)]
    models = [(row.name, provider) for row, provider in served]
    shown = {(provider, row.model or row.name): row.name for row, provider in served}
    return models, shown


@asynccontextmanager
async def pacing(
    config: Config,
    accounts: Callable[[], Iterable[Account]],
    durable: Durable | None,
    meters: Meters,
) -> AsyncGenerator[Pacing, None]:
    """Open what *config* says; leaving ends what runs beside it.

    *accounts* gives those of the moment.
    """
    stated, store = config.pacing, meters.store
    async with AsyncExitStack() as stack:
        ledger = await stack.enter_async_context(
            ledger_of(config.store, stated.queue, config.server.workers, (store.store, store.asked))
        )
        predictor = Legacy(Terms()) if stated.predictor == "legacy" else Conformal()
        pacer = Pacer(ledger, predictor, _policy(config), _spent(durable))
        group = await stack.enter_async_context(task_group())
        stack.callback(group.cancel_scope.cancel)
        opened = Pacing(pacer, ledger)
        looked = partial(_show, opened, accounts, meters)
        group.start_soon(Keeper(pacer, accounts, meters.pacing.look, looked).serve)
        if durable is not None:
            durable.writer.on_tried = store.wrote
            recovery = Recovery(ledger, pacer.purse_pools, durable.ledger.write)
            durable.writer.on_written = recovery.written
            group.start_soon(recovery.serve)
        yield opened


def _policy(config: Config) -> PacingPolicy:
    stated = config.pacing
    patience = stated.patience
    return PacingPolicy(stated.mode, patience.stream_s, patience.json_s, stated.move_after_s)


async def _show(opened: Pacing, accounts: Callable[[], Iterable[Account]], meters: Meters) -> None:
    """Show what is known here of the store, of the accounts and of budgets."""
    ledger = opened.ledger
    if isinstance(ledger, GuardedLedger):
        meters.store.dropped(ledger.dropped)
    for account in accounts():
        meters.pacing.down(account.name, account.shut(anyio.current_time()), account.gone())
    with suppress(StoreLost):
        meters.money.budgets(await standing(opened.pacer, utc_now()))


def _has_own_limits(config: Config, durable: Durable | None) -> bool:
    """Return whether there are limits that hold also where accounts' do not.

    Keys may have some, or budgets; so may tools and people.
    """
    counted = config.tool_quota.tools or config.attention.persons
    return bool(config.keys or counted) or durable is not None


def _spent(durable: Durable | None) -> Spent:
    async def spent(budget: Budget) -> int:
        if durable is None:
            return 0
        await durable.writer.flush()
        return await budget.spent(durable.ledger, utc_now())

    return spent
