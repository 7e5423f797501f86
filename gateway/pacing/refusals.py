"""What a provider's 429 teaches, and which window of the ledger it is written into."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import anyio

from gateway.admission.limits import learned
from gateway.admission.reading import Told
from gateway.pacing.asking import Asking
from gateway.stores.ledger import LedgerStore, Refusal, WindowReading, WindowSpec
from gateway.stores.readings import exhausted, provisional
from gateway.stores.readings import window as named

WIDE: Final = 1_000_000
"""Calls at once of a model of whose limits nothing is known but that it has refused one."""
_ENOUGH: Final = 20
"""Own requests of the last minute, below which nothing is guessed from them."""


async def refused(
    store: LedgerStore,
    asking: Asking,
    told: Told,
    readings: Sequence[WindowReading],
) -> None:
    """Write a 429 to *asking* into the ledger: nobody goes before the time that it *told* of.

    A model that was thought to have no limits gets a window to be shut by.
    """
    account = asking.account
    wait_s = told.retry_after_s
    window = exhausted(told, asking.model)
    if window not in asking.needs:
        window = _gate(asking)
    if not asking.needs:
        gate = WindowSpec(named(asking.model, "concurrency", None), "gauge", WIDE)
        window = gate.name
        account.add(gate)
        await store.define(account.pool, [gate, *_guessed(asking, told)])
    store.reject(
        account.pool,
        Refusal(
            asking.lease,
            window,
            None if wait_s is None else math.ceil(1000 * wait_s),
            readings,
            counts=account.vendor.failed_counts,
        ),
    )


def _gate(asking: Asking) -> str | None:
    """Return the window to shut where a refusal told of none; None: those of its rates, all.

    That is one of calls at once, where nothing else is known: the gate of an earlier refusal, say.
    """
    gates = [name for name in asking.needs if ":concurrency:" in name]
    if len(gates) < len(asking.needs):
        return None
    own = named(asking.model, "concurrency", None)
    return own if own in gates else min(gates, default=None)


def _guessed(asking: Asking, told: Told) -> list[WindowSpec]:
    """Return windows made of the account's own last minute, where a refusal told of none.

    Tokens only where it named them: what was used is much less than what is held for a call of
    which little is known.
    """
    account = asking.account
    requests, tokens = account.recent.total(anyio.current_time())
    if requests < _ENOUGH:
        return []
    named = told.exhausted is not None and told.exhausted[0] == "tokens"
    found = learned(told, {"tokens": tokens} if named else {"requests": requests})
    specs = [provisional(one, asking.model) for one in found]
    for spec in specs:
        account.guess(spec, anyio.current_time())
    return specs
