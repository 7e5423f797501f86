"""Reads how the windows stand that calls would be in: the accounts', and the caller's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from gateway.admission.names import dimension_of
from gateway.admission.need.charge import Charge
from gateway.admission.purse import Purse
from gateway.admission.windows import Window
from gateway.forecast.world import AnyWindow, Charged
from gateway.pacing import errors
from gateway.pacing.pacer import Pacer
from gateway.policy.keys import Caller
from gateway.policy.models import Model
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.ledger import PoolState, StoreLost, WindowSpec, WindowState
from gateway.stores.memory.defining import define
from gateway.upstream.account import Account

_MARGIN: Final = 0.01
_UNNAMED_S: Final = 60.0
"""Of a window whose name tells no period: one that never came back would be waited for for ever."""
_BY_REQUEST: Final = frozenset({"requests", "concurrency"})


@dataclass(frozen=True, slots=True)
class Pool:
    """How the pool of an account stands, with the length of its minute."""

    account: Account
    state: PoolState


@dataclass(slots=True)
class Stood:
    """Windows by their place, as they are now, at time 0.

    ``held`` is what calls under way hold of each.
    """

    windows: list[AnyWindow] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    _places: dict[tuple[str, str], int] = field(default_factory=dict)

    def place(self, pool: str, name: str) -> int | None:
        """Return the place of a window, None if it is not there yet."""
        return self._places.get((pool, name))

    def add(self, pool: str, window: AnyWindow, held: int) -> int:
        """Put a window in, and return its place."""
        place = self._places[pool, window.name] = len(self.windows)
        self.windows.append(window)
        self.names.append(window.name)
        self.held.append(held)
        return place


async def pools_of(pacer: Pacer | None, models: Iterable[Model]) -> dict[str, Pool]:
    """Return how the pools of the accounts of *models* stand; where nothing paces there are none.

    Raises:
        Unavailable: The store does not answer.
    """
    if pacer is None or not pacer.paces:
        return {}
    accounts = {model.account.pool: model.account for model in models}
    return {pool: Pool(it, await _peeked(pacer, pool)) for pool, it in accounts.items()}


async def _peeked(pacer: Pacer, pool: str) -> PoolState:
    try:
        return await pacer.store.peek(pool)
    except StoreLost as lost:
        raise errors.store_lost() from lost


def charged_by(stood: Stood, pool: Pool, model: str, first: Charge) -> list[Charged]:
    """Return the windows of an account that calls to *model* are in, put into *stood*.

    *first* is what the first call is charged: where nothing is known yet, as much is there.
    """
    account, known = pool.account, {state.name: state for state in pool.state.windows}
    needs = account.needs(model, first)
    specs = {spec.name: spec for spec in account.unseen(needs)}
    charged = []
    for name in needs:
        place = stood.place(account.pool, name)
        if place is None:
            place = _put(stood, account.pool, known.get(name) or specs[name], account.minute_s)
        charged.append(Charged(place, dimension_of(name)))
    return charged


async def own_windows(stood: Stood, pacer: Pacer | None, caller: Caller) -> list[Charged]:
    """Return the windows of *caller*, put into *stood*.

    Raises:
        Unavailable: The store or the database does not answer.
    """
    if pacer is None:
        return []
    purse = pacer.purse(caller)
    if purse.is_bottomless:
        return []
    try:
        specs = await purse.windows()
    except DatabaseLost as lost:
        raise errors.database_lost() from lost
    states = {state.name: state for state in (await _peeked(pacer, purse.pool)).windows}
    return [
        Charged(
            _put(stood, purse.pool, states.get(spec.name) or spec, 60.0),
            dimension_of(spec.name),
            own=True,
            by_step=dimension_of(spec.name) in _BY_REQUEST,
        )
        for spec in specs
    ]


def _put(stood: Stood, pool: str, known: WindowState | WindowSpec, minute_s: float) -> int:
    if isinstance(known, WindowSpec):
        return stood.add(pool, define(None, known, 0), 0)
    return stood.add(pool, window_of(known, minute_s), known.held)


def window_of(state: WindowState, minute_s: float = 60.0) -> AnyWindow:
    """Return the window of which *state* was told, at time 0; its minute has *minute_s*."""
    if state.kind == "never":
        left = int(state.level)
        return Purse(state.name, state.cap, left + state.held, left)
    period_s = float(state.name.rpartition(":")[2]) or _UNNAMED_S
    period_ms = 1000 * period_s * minute_s / 60
    window = Window(
        state.name,
        state.kind,
        cap=state.cap,
        level=state.level,
        at=0,
        period=period_ms,
        ends=state.ends_in_ms or 0,
        ext=state.drain / 1000,
        blocked=state.blocked_ms,
        held=state.held,
        provisional=state.provisional,
    )
    window.burst = max(state.margin - _MARGIN * state.cap, 0.0)
    return window


def groups(charged: Sequence[Sequence[Charged]]) -> list[int]:
    """Return for each list of windows the number of its group: lists that share one are of one."""
    found = list(range(len(charged)))
    places = [{row.place for row in rows if not row.own} for rows in charged]
    for here, mine in enumerate(places):
        for there in range(here):
            if mine & places[there]:
                old, new = found[here], found[there]
                found = [new if group == old else group for group in found]
    return found
