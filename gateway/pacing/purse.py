"""What a caller may take of its own: requests and tokens a minute, calls in flight, and money."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Final

import anyio

from gateway.clock import utc_now
from gateway.pacing.asking import NONE
from gateway.policy.budgets import Budget
from gateway.policy.keys import Caller
from gateway.stores.ledger import Amounts, WindowSpec

_MINUTE_MS: Final = 60_000
_NEVER: Final = datetime.max.replace(tzinfo=UTC)

Spent = Callable[[Budget], Awaitable[int]]
"""Returns the picodollars that the database knows of as spent in the budget's present period."""


class Purse:
    """The windows of one caller, all in the pool of its team, or of its own without one.

    Its limits on requests and calls in flight are over client requests, those on tokens and money
    over their sub-calls.
    """

    __slots__ = (
        "_budgets",
        "_caller",
        "_lock",
        "_names",
        "_per_call",
        "_per_request",
        "_read_at",
        "_since",
        "_specs",
        "_spent",
        "_until",
        "is_bottomless",
        "is_sized",
        "pool",
        "with_call",
    )

    def __init__(self, caller: Caller, spent: Spent) -> None:
        self._caller = caller
        self._spent = spent
        self.pool = caller.pool
        self.with_call, self._per_request = _per_request(caller)
        """What a client request takes that its first sub-call can take for it."""
        self._per_call = f"{caller.name}:tokens:60" if caller.tpm is not None else ""
        self._budgets = caller.budgets
        self._lock = anyio.Lock()
        self._read_at = -1.0
        self._specs: list[WindowSpec] = []
        self.is_bottomless = not (
            self.with_call or self._per_request or self._per_call or self._budgets
        )
        """Whether the caller has no limits of its own."""
        self._names: tuple[str, ...] = ()
        self.is_sized = self.is_bottomless
        """Whether the ledger's windows are known to have the sizes that are stated."""
        self._since = self._until = _NEVER

    def for_request(self) -> Amounts:
        """Return what a client request takes, until it has ended."""
        return self._per_request

    def for_call(self, tokens: int, money: int) -> Amounts:
        """Return what a sub-call takes that uses up to *tokens* and costs up to *money*."""
        if not self._per_call and not self._budgets:
            return NONE
        needs = {self._per_call: tokens} if self._per_call else {}
        if self._budgets:
            for name in self._present():
                needs[name] = money
        return needs

    def renews_s(self, window: str) -> float | None:
        """Return in how many seconds the period of a *window* of money ends, None: never."""
        now = utc_now()
        for budget in self._budgets:
            end = budget.span(now).end
            if end is not None and budget.window_name(now) == window:
                return (end - now).total_seconds()
        return None

    def sizes(self) -> dict[str, int]:
        """Return what each window holds when full, by its name."""
        caller, now = self._caller, utc_now()
        stated = (
            (f"{caller.name}:requests:60", caller.rpm),
            (f"{caller.name}:tokens:60", caller.tpm),
            (f"{caller.name}:concurrency:0", caller.concurrency),
            *((budget.window_name(now), budget.cap) for budget in self._budgets),
        )
        return {name: size for name, size in stated if size is not None}

    def _present(self) -> tuple[str, ...]:
        """Return the names of the budgets' windows, which are the same until a period ends."""
        now = utc_now()
        if not self._since <= now < self._until:
            spans = [budget.span(now) for budget in self._budgets]
            self._since = now
            self._until = min((span.end for span in spans if span.end), default=_NEVER)
            self._names = tuple(budget.window_name(now) for budget in self._budgets)
        return self._names

    async def windows(self) -> list[WindowSpec]:
        """Return the windows as they are to be defined where they are not known.

        Many may ask at once: the database is asked again only for who came after it was.

        Raises:
            DatabaseLost: What was spent cannot be told.
        """
        came = anyio.current_time()
        async with self._lock:
            if self._read_at < came:
                now = anyio.current_time()
                self._specs, self._read_at = await self._read(), now
            return self._specs

    async def _read(self) -> list[WindowSpec]:
        caller, now = self._caller, utc_now()
        specs = [
            WindowSpec(f"{caller.name}:{what}:60", "bucket", limit, _MINUTE_MS, told=False)
            for what, limit in (("requests", caller.rpm), ("tokens", caller.tpm))
            if limit is not None
        ]
        if caller.concurrency is not None:
            specs.append(WindowSpec(f"{caller.name}:concurrency:0", "gauge", caller.concurrency))
        for budget in self._budgets:
            specs.append(budget.window(now, await self._spent(budget)))
        return specs


def _per_request(caller: Caller) -> tuple[Amounts, Amounts]:
    """Return what a request takes with its first sub-call, and what it holds until it has ended."""
    counted = {} if caller.rpm is None else {f"{caller.name}:requests:60": 1}
    if caller.concurrency is None:
        return counted or NONE, NONE
    return NONE, {**counted, f"{caller.name}:concurrency:0": 1}
