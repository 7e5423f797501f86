"""The day so far: what was spent, what is left of budgets, and what went wrong last."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

import orjson

from gateway.metering.meters.rows import Ended, RecentRows
from gateway.policy.expiry import goes_soon
from gateway.policy.register import Register
from gateway.stores.database.day import FINE, HOUR, DayTable, Failed, Spent
from gateway.stores.database.rows import instant, moment
from pricing.cost import dollars
from techniques.core.json import JsonObject

MOST: Final = 12
"""Bars of a kind; what the others come to is one more."""
ERRORS: Final = 20
_LEAST: Final = Decimal("1e-12")


@dataclass(frozen=True, slots=True)
class Day:
    """Reads of *table* and *register*, or without a database of what is remembered here."""

    table: DayTable | None
    recent: RecentRows
    register: Register | None = None

    async def told(self, now: datetime) -> JsonObject:
        """Return what is told of the day that *now* is in, as UTC has it.

        Raises:
            DatabaseLost: The database does not answer.
        """
        start = now.replace(hour=0, minute=0, second=0, microsecond=0)
        since = instant(start.timestamp())
        if self.table is None:
            spent, failed = _spent_here(self.recent.ended(), since), _failed_here(self.recent)
        else:
            spent, failed = await self.table.spent(since), await self.table.failed(ERRORS)
        return {
            "at": now.isoformat(),
            "since": start.isoformat(),
            "of": "memory" if self.table is None else "database",
            "spend": _spend(spent),
            "errors": [_error(it, self.recent) for it in failed],
        }

    async def budgets(self, now: datetime) -> JsonObject:
        """Return what is told of budgets as they stand *now*: of those that are used up most.

        Raises:
            DatabaseLost: The database does not answer.
        """
        found = [] if self.register is None else await self.register.budgets(now)
        found.sort(key=lambda it: Decimal(it["left_usd"]) / max(Decimal(it["usd"]), _LEAST))
        names = ("key", "team", "period", "usd", "spent_usd", "left_usd", "end")
        shown = [{name: budget[name] for name in names} for budget in found[:MOST]]
        return {"list": shown, "more": max(len(found) - MOST, 0)}

    async def going(self, now: datetime) -> JsonObject:
        """Return what is told of keys that have expired *now*, or soon will: the first ones first.

        Raises:
            DatabaseLost: The database does not answer.
        """
        keys = [] if self.register is None else await self.register.keys()
        found = sorted(
            (key["expires"], key["name"])
            for key in keys
            if key["expires"] and not key["revoked_at"]
            if goes_soon(datetime.fromisoformat(key["expires"]), now)
        )
        shown = [{"name": name, "expires": at} for at, name in found[:MOST]]
        return {"list": shown, "more": max(len(found) - MOST, 0)}


def _spent_here(ended: Iterable[Ended], since: int) -> list[Spent]:
    sums: defaultdict[tuple[int, str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for finished, _ in ended:
        for row in finished.rows:
            at = instant(row.started_at) - since
            if at >= 0:
                total = sums[at // HOUR, finished.technique, row.model]
                total[0] += row.cost or 0
                total[1] += 1
                total[2] += row.cost is None
    return [Spent(*key, *total) for key, total in sums.items()]


def _failed_here(recent: RecentRows) -> list[Failed]:
    failed = [it for it in reversed(recent.ended()) if it.finished.outcome not in FINE]
    return [
        Failed(it.row, tuple((row.model, row.provider, row.outcome) for row in it.finished.rows))
        for it in failed[:ERRORS]
    ]


def _spend(spent: Sequence[Spent]) -> JsonObject:
    hours = [_sum("", [row for row in spent if row.hour == hour]) for hour in range(24)]
    return {
        **_sum("", spent),
        "by_technique": _bars(spent, lambda row: row.technique or ""),
        "by_model": _bars(spent, lambda row: row.model),
        "by_hour": hours,
    }


def _bars(spent: Sequence[Spent], name: Callable[[Spent], str]) -> list[JsonObject]:
    """Return a sum for each name, the largest first; the least of very many are one."""
    groups: defaultdict[str, list[Spent]] = defaultdict(list)
    for row in spent:
        groups[name(row)].append(row)
    ordered = sorted(groups.items(), key=lambda it: (-sum(r.cost for r in it[1]), it[0]))
    bars = [_sum(label, rows) for label, rows in ordered[:MOST]]
    if rest := [row for _, rows in ordered[MOST:] for row in rows]:
        bars.append({**_sum("", rest), "others": len(ordered) - MOST})
    return bars


def _sum(name: str, rows: Sequence[Spent]) -> JsonObject:
    return {
        "name": name,
        "usd": dollars(sum(row.cost for row in rows)),
        "calls": sum(row.calls for row in rows),
        "unknown": sum(row.unknown for row in rows),
    }


def _error(failed: Failed, recent: RecentRows) -> JsonObject:
    row = failed.request
    return {
        "request_id": row.request_id,
        "at": moment(row.ended_at),
        "outcome": row.outcome,
        "code": row.code or recent.code(row.request_id),
        "status": row.status,
        "dialect": row.dialect,
        "model": row.model,
        "technique": row.technique,
        "key": row.key,
        "ms": row.ms,
        "warnings": orjson.loads(row.warnings)[:3],
        "calls": [
            {"model": model, "provider": provider, "outcome": outcome}
            for model, provider, outcome in failed.calls[:3]
        ],
        "calls_made": len(failed.made),
        "more_calls": max(len(failed.calls) - 3, 0),
    }
