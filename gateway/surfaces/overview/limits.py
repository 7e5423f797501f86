"""How the windows of accounts stand: what is left of each, and when it is full again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gateway.admission.names import is_money
from gateway.stores.ledger import LedgerStore, PoolState, WindowState
from gateway.upstream.account import WHOLE, Account, is_probe
from techniques.core.json import JsonObject

MOST: Final = 16
"""So many windows of an account are told of: those of which the least is left."""
MOST_ACCOUNTS: Final = 50


async def limits(store: LedgerStore, accounts: Iterable[Account]) -> list[JsonObject]:
    """Return what is told of *accounts*.

    Raises:
        StoreLost: The store does not answer.
    """
    return [await _account(store, account) for account in list(accounts)[:MOST_ACCOUNTS]]


async def _account(store: LedgerStore, account: Account) -> JsonObject:
    state = await store.peek(account.pool)
    windows = [*_used(state), *_unused(state, account)]
    windows.sort(key=lambda told: (told["left"] / told["cap"], told["window"]))
    return {
        "account": account.name,
        "queued": state.queued,
        "under_way": state.leases,
        "windows": windows[:MOST],
        "more": max(len(windows) - MOST, 0),
    }


def _used(state: PoolState) -> list[JsonObject]:
    return [
        {
            **_named(it.name),
            "kind": it.kind,
            "cap": it.cap,
            "left": max(min(round(it.level, 3), it.cap), 0),
            "held": max(it.held, 0),
            "full_ms": _full_ms(it),
            "blocked_ms": it.blocked_ms,
            "guessed": it.provisional,
        }
        for it in state.windows
        if it.cap > 0 and not is_probe(it.name) and not is_money(it.name)
    ]


def _unused(state: PoolState, account: Account) -> list[JsonObject]:
    """Return the windows that are stated, and that no call has been in yet."""
    there = {window.name for window in state.windows}
    return [
        {**_named(name), "kind": "stated", "cap": cap, "left": cap, "held": 0, "full_ms": 0}
        | {"blocked_ms": 0, "guessed": False}
        for name, cap in account.caps().items()
        if name not in there and cap > 0 and not is_probe(name)
    ]


def _named(name: str) -> JsonObject:
    model, dimension, period = name.rsplit(":", 2)
    return {
        "window": name,
        "model": None if model == WHOLE else model,
        "dimension": dimension,
        "period_s": int(period),
    }


def _full_ms(window: WindowState) -> int | None:
    """Return in how many milliseconds it is full if nothing more is taken; None: nobody knows."""
    lack = window.cap - window.level
    if lack <= 0:
        return 0
    if window.kind == "fixed":
        return window.ends_in_ms
    flow = window.rate - window.drain
    return int(1000 * lack / flow) if window.kind == "bucket" and flow > 0 else None
