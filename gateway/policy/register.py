"""The register of keys, teams and budgets: those of the configuration and those of the database.

What is asked for has been checked for its form; here it is checked against what there is.
"""

from __future__ import annotations

import secrets as dice
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, NamedTuple

from gateway.config import BudgetConfig, Config
from gateway.config.names import means_any
from gateway.policy.asked import BudgetChange, Faulty, KeyChange, NewBudget, NewKey, NewTeam
from gateway.policy.budgets import Budget
from gateway.policy.callers import budget_of, budgets_of
from gateway.policy.keys import digest
from gateway.policy.listed import Source, configured_key, told_budget, told_key
from gateway.stores.changes import Changes
from gateway.stores.database.ledger import LedgerTable, Spender
from gateway.stores.database.owners import OwnerTables
from gateway.stores.database.records import BudgetRecord, KeyRecord, NotThere, OwnerKind, Taken
from pricing.price import PICO
from techniques.core.json import JsonObject

_SHOWN: Final = 9
_NO_SECRET: Final = (
    "LOCKGATE_KEY_SECRET is not set: keys are hashed with it. Set the same, a long random text, "
    "here and where the gateway runs."
)
"""So many signs of a key are kept, to know it by: of 43 random ones, six."""


class Made(NamedTuple):
    """A key that was made: its text, which is kept nowhere, and what is told of it ever after."""

    text: str
    told: JsonObject


class BudgetName(NamedTuple):
    """Which budget: an owner has one for each sort of period."""

    kind: OwnerKind
    owner: str
    period: str


@dataclass(frozen=True, slots=True)
class Known:
    """What keys may name: models, which may end in ``*``, and techniques."""

    models: set[str]
    techniques: frozenset[str]


@dataclass(frozen=True, slots=True)
class Register:
    """Lists and changes. ``secret`` hashes keys; without one no key can be made.

    Every operation on the database may raise ``DatabaseLost``, and every change is published.
    """

    config: Config
    secret: str | None
    known: Known
    owners: OwnerTables
    ledger: LedgerTable
    changes: Changes

    async def keys(self) -> list[JsonObject]:
        """Return all keys, those of the configuration first."""
        told = [configured_key(key) for key in self.config.keys]
        return told + [told_key(record) for record in await self.owners.keys()]

    async def create_key(self, asked: NewKey) -> Made:
        """Make a key.

        Raises:
            Faulty: A field names what is not there, or there is no secret.
            Taken: There is a key of this name.
        """
        if any(key.name == asked.name for key in self.config.keys):
            raise Taken(f"There is a key {asked.name!r} already, in the configuration.")
        await self._check(asked)
        text, secret = self._text()
        record = KeyRecord(asked.name, text[:_SHOWN], digest(secret, text))
        record = replace(record, **asked.columns())
        budgets = _records("key", asked.name, asked.all_budgets)
        made = await self.owners.add_key(record, list(budgets))
        await self.changes.publish()
        return Made(text, told_key(made))

    async def change_key(self, name: str, asked: KeyChange) -> JsonObject:
        """Change a key.

        Raises:
            Faulty: A field names what is not there.
            NotThere: There is no such key.
            Taken: It is in the configuration.
        """
        await self._check(asked)
        return told_key(await self._changed(name, asked.columns()))

    async def rotate_key(self, name: str) -> Made:
        """Give a key a new text; the old one is not valid any more.

        Raises:
            Faulty: There is no secret.
            NotThere: There is no such key.
            Taken: It is in the configuration.
        """
        text, secret = self._text()
        fields = {"prefix": text[:_SHOWN], "hash": digest(secret, text)}
        return Made(text, told_key(await self._changed(name, fields)))

    async def revoke_key(self, name: str) -> JsonObject:
        """Revoke a key for ever.

        Raises:
            NotThere: There is no such key.
            Taken: It is in the configuration.
        """
        self._check_own("key", name)
        revoked = await self.owners.revoke_key(name)
        await self.changes.publish()
        return told_key(revoked)

    async def teams(self) -> list[JsonObject]:
        """Return all teams, those of the configuration first."""
        told: list[JsonObject] = [{"name": t.name, "source": "file"} for t in self.config.teams]
        rows = await self.owners.teams()
        return told + [{"name": row.name, "source": "database"} for row in rows]

    async def create_team(self, asked: NewTeam) -> JsonObject:
        """Make a team.

        Raises:
            Taken: There is one of this name.
        """
        if any(team.name == asked.name for team in self.config.teams):
            raise Taken(f"There is a team {asked.name!r} already, in the configuration.")
        await self.owners.add_team(
            asked.name, list(_records("team", asked.name, asked.all_budgets))
        )
        await self.changes.publish()
        return {"name": asked.name, "source": "database"}

    async def remove_team(self, name: str) -> None:
        """Forget a team and its budgets.

        Raises:
            NotThere: There is none.
            Taken: It is in the configuration, or keys belong to it.
        """
        self._check_own("team", name)
        await self.owners.remove_team(name)
        await self.changes.publish()

    async def budgets(self, now: datetime) -> list[JsonObject]:
        """Return all budgets as they stand *now*, those of the configuration first."""
        stated = list(self._configured_budgets())
        kept = [budget_of(record) for record in await self.owners.budgets()]
        return [
            *[await self._stands(budget, now, "file") for budget in stated],
            *[await self._stands(budget, now, "database") for budget in kept],
        ]

    async def create_budget(self, asked: NewBudget, now: datetime) -> JsonObject:
        """Make a budget.

        Raises:
            Faulty: There is no such key or team.
            Taken: It has one for this period, or is in the configuration.
        """
        kind: OwnerKind = "key" if asked.key is not None else "team"
        owner = asked.key if asked.key is not None else asked.team or ""
        self._check_own(kind, owner)
        if owner not in await self._owners_of(kind):
            raise Faulty(kind, f"there is no {kind} {owner!r}")
        (record,) = _records(kind, owner, [asked])
        await self.owners.add_budget(record)
        return await self._told(record, now)

    async def change_budget(
        self, named: BudgetName, asked: BudgetChange, now: datetime
    ) -> JsonObject:
        """Change a budget.

        Raises:
            NotThere: There is none.
            Taken: Its owner is in the configuration.
        """
        record = await self._budget(named)
        cap = record.cap if asked.usd is None else int(asked.usd * PICO)
        record = replace(record, cap=cap, tz=asked.tz or record.tz)
        await self.owners.change_budget(record)
        return await self._told(record, now)

    async def remove_budget(self, named: BudgetName) -> None:
        """Forget a budget.

        Raises:
            NotThere: There is none.
            Taken: Its owner is in the configuration.
        """
        await self.owners.remove_budget(await self._budget(named))
        await self.changes.publish()

    async def _changed(self, name: str, fields: Mapping[str, Any]) -> KeyRecord:
        self._check_own("key", name)
        changed = await self.owners.change_key(name, fields)
        await self.changes.publish()
        return changed

    async def _told(self, record: BudgetRecord, now: datetime) -> JsonObject:
        await self.changes.publish()
        return await self._stands(budget_of(record), now, "database")

    async def _stands(self, budget: Budget, now: datetime, source: Source) -> JsonObject:
        return told_budget(budget, await budget.spent(self.ledger, now), now, source)

    async def _budget(self, named: BudgetName) -> BudgetRecord:
        self._check_own(named.kind, named.owner)
        for record in await self.owners.budgets():
            if (record.kind, record.owner, record.period) == named:
                return record
        raise NotThere(f"There is no budget of {named.kind} {named.owner!r} for {named.period!r}.")

    async def _owners_of(self, kind: OwnerKind) -> set[str]:
        if kind == "team":
            return {team.name for team in await self.owners.teams()}
        return {key.name for key in await self.owners.keys() if key.revoked_at is None}

    async def _check(self, asked: KeyChange) -> None:
        for name in asked.models or ():
            if not means_any(self.known.models, name):
                raise Faulty("models", f"there is no model {name!r}")
        for name in asked.techniques or ():
            if name not in self.known.techniques:
                raise Faulty("techniques", f"there is no technique {name!r}")
        if asked.team is not None and asked.team not in await self._owners_of("team"):
            raise Faulty("team", f"there is no team {asked.team!r} in the database")

    def _check_own(self, kind: OwnerKind, name: str) -> None:
        rows = self.config.keys if kind == "key" else self.config.teams
        if any(row.name == name for row in rows):
            raise Taken(f"The {kind} {name!r} is in the configuration: change it there.")

    def _configured_budgets(self) -> Iterator[Budget]:
        for team in self.config.teams:
            yield from budgets_of(Spender(team.name, is_team=True), team.all_budgets)
        for key in self.config.keys:
            yield from budgets_of(Spender(key.name), key.all_budgets)

    def _text(self) -> tuple[str, str]:
        """Return the text of a new key, and the secret that hashes it."""
        if not self.secret:
            raise Faulty("", _NO_SECRET)
        return f"lg-{dice.token_urlsafe(32)}", self.secret


def _records(
    kind: OwnerKind, owner: str, budgets: Iterable[BudgetConfig]
) -> Iterator[BudgetRecord]:
    for row in budgets:
        yield BudgetRecord(kind, owner, row.period, int(row.usd * PICO), row.tz)
