"""What paces all calls of this process: the ledger, what predicts needs, and whose turn it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import anyio

from gateway.admission.need.conformal import Predictor
from gateway.admission.need.value import Fit, Timing
from gateway.clock import loop_time
from gateway.metering.ledger import CallFinished, Ledger
from gateway.metering.meters.durable import Whose
from gateway.pacing.asking import Asking
from gateway.pacing.lease import Lease
from gateway.pacing.moving import Mover
from gateway.pacing.purse import Purse, Spent
from gateway.policy.budgets import Budget
from gateway.policy.keys import Caller
from gateway.stores.ledger import LedgerStore
from gateway.upstream.account import Account

Mode: TypeAlias = Literal["on", "observe", "off"]
_FIRST_S: Final = 2.0
_MOST_PURSES: Final = 4096
_ALL_LEARNED: Final = 200
_ONE_IN: Final = 8


@dataclass(frozen=True, slots=True)
class PacingPolicy:
    """How long calls are held at most, in seconds; with ``observe`` none is.

    A call that would be held for more than ``move_after_s`` moves where it can go sooner.
    """

    mode: Mode = "on"
    stream_s: float = 300.0
    json_s: float = 55.0
    move_after_s: float = 2.0


async def _nothing(_budget: object) -> int:
    return 0


class Pacer:
    """Shared by all runs.

    ``observes``: it computes and counts, and holds nothing. ``paces`` False: it looks after the
    limits and budgets of callers only. *spent* tells what a budget has been
    charged with before the ledger knew of it.
    """

    def __init__(
        self,
        store: LedgerStore,
        predictor: Predictor,
        policy: PacingPolicy | None = None,
        spent: Spent = _nothing,
    ) -> None:
        self.store = store
        self.predictor = predictor
        self._policy = policy or PacingPolicy()
        self.observes = self._policy.mode == "observe"
        self.paces = self._policy.mode != "off"
        self._spent = spent
        self._free = 0
        self._purses: dict[int, tuple[Caller, Purse]] = {}
        self.live: dict[str, Lease] = {}
        self.move_after_s = self._policy.move_after_s
        self.mover = Mover(self, self.move_after_s)

    def under(self, policy: PacingPolicy) -> Pacer:
        """Return one of another *policy* that shares what is known and under way."""
        other = Pacer(self.store, self.predictor, policy, self._spent)
        other._purses, other.live = self._purses, self.live
        return other

    def surface_s(self, *, streamed: bool) -> float:
        """Return how long a call may be held, as far as its surface is concerned."""
        return self._policy.stream_s if streamed else self._policy.json_s

    def is_enough(self) -> bool:
        """Return whether nothing needs to be learned of a call that holds nothing.

        Of the first of them everything is, later only of every eighth: bounds need no more.
        """
        self._free += 1
        return self._free > _ALL_LEARNED and self._free % _ONE_IN != 0

    def purse_pools(self) -> list[str]:
        """Return the pools of callers whose budgets were held here."""
        return list({caller.pool for caller, _ in self._purses.values() if caller.budgets})

    def budgets(self) -> dict[str, set[Budget]]:
        """Return the budgets of callers that have been here, by the pools that they are in."""
        found: dict[str, set[Budget]] = {}
        for caller, _ in self._purses.values():
            if caller.budgets:
                found.setdefault(caller.pool, set()).update(caller.budgets)
        return found

    def callers_pools(self) -> set[str]:
        """Return the pools of callers that have limits or budgets and have been here."""
        known = self._purses.values()
        return {caller.pool for caller, purse in known if not purse.is_bottomless}

    def purse(self, caller: Caller) -> Purse:
        """Return the windows of *caller*."""
        known = self._purses.get(id(caller))
        if known is not None and known[0] is caller:
            return known[1]
        if len(self._purses) >= _MOST_PURSES:
            self._purses.clear()
        purse = Purse(caller, self._spent)
        self._purses[id(caller)] = (caller, purse)
        return purse

    async def first(self, account: Account) -> bool:
        """Let the first call to *account* go alone: its answer tells what the limits are.

        Return whether this is the first. If it is not made then, another has to be told.

        The others wait until it has been answered, or two seconds. Where nobody expects an answer
        to tell of limits, nobody waits.
        """
        if account.heard or self.observes or not self.paces or not account.tells:
            return False
        if account.asked is None:
            account.asked = anyio.Event()
            return True
        with anyio.move_on_after(_FIRST_S):
            await account.asked.wait()
        return False

    def lease(self, asking: Asking, ledger: Ledger, whose: Whose) -> Lease:
        """Return the lease of a call that was let through; it is kept alive until it ends."""
        lease = Lease(asking, self, ledger, whose)
        if asking.needs or asking.own:
            lease.renewed = loop_time()
            self.live[asking.lease] = lease
        return lease

    def ended(self, asking: Asking) -> None:
        """Note that a call has ended."""
        self.live.pop(asking.lease, None)

    def learn(self, asking: Asking, row: CallFinished) -> Fit | None:
        """Take in how a sub-call ended; return how its need compares, where that is known."""
        if asking.call is None or row.outcome != "ok" or row.estimated:
            return None
        timing = None if row.first_s is None else Timing(row.first_s, row.seconds)
        return self.predictor.record(asking.call, asking.need, row.usage, timing)
