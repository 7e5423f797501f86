"""The pump: grants what fits to those who wait, in order, and lets small ones go before a large.

Backfill is EASY's (Lifka 1995, "The ANL/IBM SP scheduling system"): one may go before those who
wait for the windows it needs if they can start as early as they could without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from gateway.admission.purse import Purse
from gateway.admission.queueing import Lane, Order, Waiter
from gateway.admission.windows import NEVER, RELEASE
from gateway.stores.memory.pool import Pool

_FOLLOWING: Final = 8
_GRANTS: Final = 64
ABSENT: Final = -3
"""The wait of a verdict on a window that is not there."""


class Verdict(NamedTuple):
    """How long something has to wait, in milliseconds or as NEVER or RELEASE, and for what."""

    wait: float
    binding: str


@dataclass(frozen=True, slots=True)
class Head:
    """One who waits for windows and not for who is before it, and when it can start."""

    waiter: Waiter
    planned: Verdict


def judge(
    pool: Pool, lane: Lane, needs: Mapping[str, int], ahead: Mapping[str, float] | None = None
) -> Verdict:
    """Return how long *needs* have to wait for the windows, after what is *ahead*."""
    worst: float = 0
    binding = ""
    for name in lane:
        window = pool.window(name)
        if window is None:
            return Verdict(ABSENT, name)
        if ahead is None or isinstance(window, Purse):
            wait = window.wait(needs[name])
        else:
            wait = window.wait(needs[name], ahead.get(name, 0))
        if wait == NEVER:
            return Verdict(NEVER, name)
        if wait == RELEASE:
            if worst == 0:
                worst, binding = RELEASE, name
        elif wait > 0 and (worst == RELEASE or wait > worst):
            worst, binding = wait, name
    return Verdict(worst, binding)


class _Walk:
    """Goes through a queue in order, past those that are left standing."""

    def __init__(self, pool: Pool) -> None:
        self._line = pool.line
        self._at: dict[Lane, int] = dict.fromkeys(pool.line.lanes, 0)

    def next(self) -> Waiter | None:
        best: tuple[Order, str] | None = None
        for lane, at in self._at.items():
            standing = self._line.lanes.get(lane)
            if standing is not None and at < len(standing.order):
                candidate = standing.order[at]
                if best is None or candidate < best:
                    best = candidate
        return None if best is None else self._line.entries[best[1]]

    def skip(self, waiter: Waiter) -> None:
        self._at[waiter.lane] += 1

    def close(self, lane: Lane) -> None:
        del self._at[lane]


def pump(pool: Pool, mine: str = "", *, dispatched: bool = False) -> list[Head]:
    """Grant what fits, and return who waits for windows; *mine* is granted without a ring."""
    if not pool.line.entries:
        return []
    heads: list[Head] = []
    walk = _Walk(pool)
    following, grants = _FOLLOWING, _GRANTS
    while grants and (waiter := walk.next()) is not None:
        behind = [head for head in heads if _share(head.waiter, waiter)]
        if behind and not following:
            walk.close(waiter.lane)
            continue
        following -= bool(behind)
        verdict = judge(pool, waiter.lane, waiter.needs)
        if verdict.wait in {NEVER, ABSENT}:  # asked for again it will be told why
            pool.line.remove(waiter)
            pool.bells.ring(waiter.id)
        elif verdict.wait == 0 and all(_harmless(pool, waiter, head) for head in behind):
            grants -= 1
            pool.line.remove(waiter, granted=True)
            pool.grant(waiter.asks, waiter.tag, dispatched=dispatched and waiter.id == mine)
            if waiter.id != mine:
                pool.bells.ring(waiter.id)
        else:
            walk.skip(waiter)
            if not behind:
                heads.append(Head(waiter, verdict))
    return heads


def _share(head: Waiter, waiter: Waiter) -> bool:
    return any(name in head.needs for name in waiter.lane)


def _harmless(pool: Pool, waiter: Waiter, head: Head) -> bool:
    """Tell whether *head* can start as planned though *waiter* goes first."""
    planned = max(0, head.planned.wait)
    for name in head.waiter.lane:
        window, more = pool.windows[name], waiter.needs.get(name, 0)
        wait = window.wait(head.waiter.needs[name], more)
        if wait < 0 and more:
            return False
        if wait > planned:
            return False
    return True


def standing(pool: Pool, waiter: Waiter, heads: list[Head]) -> tuple[Verdict, int]:
    """Return how long *waiter* has to wait about, and how many are before it."""
    position, ahead = pool.line.before(waiter)
    verdict = judge(pool, waiter.lane, waiter.needs, ahead)
    if verdict.wait == 0:  # its own windows have room: it waits for who is before it
        for head in heads:
            if _share(head.waiter, waiter):
                return head.planned, position
        return Verdict(1, waiter.lane[0]), position
    return verdict, position
