"""Where a call goes that several accounts could take: to the one that can take it soonest.

Seconds are compared, not tokens left: a small window that refills fast beats a large empty one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import anyio

from gateway.pacing.lease import Lease
from gateway.policy.models import Model
from gateway.stores.eta import eta_s
from gateway.stores.ledger import LedgerStore, PoolState, StoreLost


class Moving(Protocol):
    """What is needed of whoever paces: the store, and what is under way."""

    store: LedgerStore
    live: dict[str, Lease]


@dataclass(frozen=True, slots=True)
class Mover:
    """Orders models. ``move_after_s``: a shorter wait is no reason for another model."""

    pacer: Moving
    move_after_s: float

    async def order(self, models: Sequence[Model], tokens: int) -> list[int]:
        """Return the places of *models* in the order in which they are to be tried.

        The first and those of its name are equal accounts of one model; the others take its place
        only where it would have to wait longer. *tokens* is about what the call needs.
        """
        now = anyio.current_time()
        if not any(now < model.account.tight_until or _is_down(model, now) for model in models):
            return self._by_load(models)
        waits = [await self._wait_s(model, tokens, now) for model in models]
        equal = [place for place, model in enumerate(models) if model.name == models[0].name]
        places = sorted(range(len(models)), key=waits.__getitem__)
        if min(waits[place] for place in equal) > self.move_after_s:
            return places
        first = [place for place in places if place in equal]
        return [*first, *(place for place in range(len(models)) if place not in equal)]

    def _by_load(self, models: Sequence[Model]) -> list[int]:
        """Return the order where nobody waits: of equal accounts the least busy first."""
        pools = [lease.asking.account.pool for lease in self.pacer.live.values()]
        busy = [
            pools.count(model.account.pool) if model.name == models[0].name else len(pools) + 1
            for model in models
        ]
        return sorted(range(len(models)), key=busy.__getitem__)

    async def _wait_s(self, model: Model, tokens: int, now: float) -> float:
        account = model.account
        needs = account.needs(
            model.target.model,
            {"requests": 1, "tokens": tokens, "input_tokens": tokens, "output_tokens": tokens},
        )
        wait_s = account.health(model.target.model).left_s(now)
        if not needs:
            return wait_s
        try:
            state: PoolState = await self.pacer.store.peek(account.pool)
        except StoreLost:
            return wait_s
        return max(wait_s, eta_s(state, needs))


def _is_down(model: Model, now: float) -> bool:
    return model.account.health(model.target.model).left_s(now) > 0
