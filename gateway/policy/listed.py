"""How keys and budgets are told of: everything but what a key is."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from gateway.config import KeyConfig
from gateway.policy.budgets import Budget
from gateway.stores.database.records import KeyRecord
from gateway.stores.database.rows import moment
from pricing.cost import dollars
from techniques.core.json import Json, JsonObject

Source: TypeAlias = Literal["file", "database"]
"""Where something is kept: what is in the configuration file is changed there."""


def told_key(record: KeyRecord) -> JsonObject:
    """Return what is told of a key in the database."""
    return {
        "name": record.name,
        "prefix": record.prefix,
        "source": "database",
        "team": record.team,
        "models": _list(record.models),
        "techniques": _list(record.techniques),
        "priority": record.priority,
        "weight": record.weight,
        "rpm": record.rpm,
        "tpm": record.tpm,
        "concurrency": record.concurrency,
        "journal": record.journal,
        "expires": None if record.expires is None else moment(record.expires),
        "caps": {
            "max_calls": record.max_calls,
            "max_cost_usd": None if record.max_cost is None else dollars(record.max_cost),
            "deadline_ms": record.deadline_ms,
        },
        "created_at": moment(record.created_at),
        "revoked_at": None if record.revoked_at is None else moment(record.revoked_at),
    }


def configured_key(key: KeyConfig) -> JsonObject:
    """Return what is told of a key in the configuration."""
    cost = key.caps.max_cost_usd
    return {
        "name": key.name,
        "prefix": None,
        "source": "file",
        "team": key.team,
        "models": _list(key.models),
        "techniques": _list(key.techniques),
        "priority": key.priority,
        "weight": key.weight,
        "rpm": key.rpm,
        "tpm": key.tpm,
        "concurrency": key.concurrency,
        "journal": key.journal,
        "expires": None if key.expires is None else key.expires.isoformat(),
        "caps": {
            "max_calls": key.caps.max_calls,
            "max_cost_usd": None if cost is None else str(cost),
            "deadline_ms": key.caps.deadline_ms,
        },
        "created_at": None,
        "revoked_at": None,
    }


def told_budget(budget: Budget, spent: int, now: datetime, source: Source) -> JsonObject:
    """Return how a budget stands, of which *spent* picodollars are gone in now's period."""
    span, spender = budget.span(now), budget.spender
    return {
        "key": None if spender.is_team else spender.name,
        "team": spender.name if spender.is_team else None,
        "source": source,
        "usd": dollars(budget.cap),
        "period": budget.period,
        "tz": budget.tz,
        "spent_usd": dollars(spent),
        "left_usd": dollars(max(budget.cap - spent, 0)),
        "start": None if span.start is None else span.start.isoformat(),
        "end": None if span.end is None else span.end.isoformat(),
    }


def _list(names: tuple[str, ...] | None) -> Json:
    return None if names is None else list(names)
