"""From keys as they are configured, or kept in the database, to callers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gateway.config import BudgetConfig, CapsConfig, Config, KeyConfig
from gateway.config.context import ContextConfig
from gateway.context.rules import Rules
from gateway.metering.caps import Caps
from gateway.policy.budgets import Budget
from gateway.policy.keys import Caller
from gateway.stores.database.ledger import Spender
from gateway.stores.database.records import BudgetRecord, KeyRecord
from gateway.stores.database.rows import time_of
from pricing.price import PICO


def configured(config: Config) -> Iterator[tuple[str, Caller]]:
    """Yield the hash of each key in *config*, and whose it is."""
    teams = {team.name: team.all_budgets for team in config.teams}
    for key in config.keys:
        own = budgets_of(Spender(key.name), key.all_budgets)
        team = key.team
        shared = budgets_of(Spender(team, is_team=True), teams[team]) if team is not None else ()
        yield key.hash, _configured(key, (*own, *shared))


def recorded(record: KeyRecord, budgets: Iterable[Budget]) -> Caller:
    """Return whose key *record* is; those of *budgets* that are its own or its team's hold."""
    own = (Spender(record.name), Spender(record.team or "", is_team=True))
    held = tuple(budget for budget in budgets if budget.spender in own)
    return Caller(
        name=record.name,
        models=_set(record.models),
        techniques=_set(record.techniques),
        caps=Caps(record.max_calls, record.max_cost),
        deadline_ms=record.deadline_ms,
        budgeted=bool(held),
        priority=record.priority,
        team=record.team,
        weight=record.weight,
        rpm=record.rpm,
        tpm=record.tpm,
        concurrency=record.concurrency,
        budgets=held,
        kept_apart=record.journal == "memory",
        expires=None if record.expires is None else time_of(record.expires),
    )


def budgets_of(spender: Spender, stated: Iterable[BudgetConfig]) -> tuple[Budget, ...]:
    """Return the budgets of *spender* that a configuration states."""
    return tuple(Budget(spender, int(row.usd * PICO), row.period, row.tz) for row in stated)


def budget_of(record: BudgetRecord) -> Budget:
    """Return the budget that the database keeps as *record*."""
    spender = Spender(record.owner, is_team=record.kind == "team")
    return Budget(spender, record.cap, record.period, record.tz)


def caps_of(stated: CapsConfig) -> Caps:
    """Return the caps that a configuration states."""
    cost = stated.max_cost_usd
    return Caps(stated.max_calls, None if cost is None else int(cost * PICO))


def rules_of(stated: ContextConfig) -> Rules:
    """Return what a configuration says of long conversations."""
    return Rules(stated.on_wall, stated.at, stated.keep_last, stated.model)


def _configured(key: KeyConfig, budgets: tuple[Budget, ...]) -> Caller:
    return Caller(
        name=key.name,
        models=_set(key.models),
        techniques=_set(key.techniques),
        caps=caps_of(key.caps),
        deadline_ms=key.caps.deadline_ms,
        budgeted=bool(budgets),
        priority=key.priority,
        team=key.team,
        weight=key.weight,
        rpm=key.rpm,
        tpm=key.tpm,
        concurrency=key.concurrency,
        budgets=budgets,
        context=None if key.context is None else rules_of(key.context),
        kept_apart=key.journal == "memory",
        expires=key.expires,
    )


def _set(names: tuple[str, ...] | None) -> frozenset[str] | None:
    return None if names is None else frozenset(names)
