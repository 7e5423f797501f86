"""Runs to write down, and a clock for them."""

from __future__ import annotations

from typing import Any

from gateway.stores.journal.journal import Claim, Claimed, Journal, Matching
from gateway.stores.journal.records import RunName, RunRecord, StepRecord

LEASE_MS = 15_000


class Clock:
    """Milliseconds, as far as a test has let them pass."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


def run(name: str = "run", owner: str = "key", body: str = "body", **more: Any) -> RunRecord:
    """Return a run that begins."""
    return RunRecord(
        RunName(owner, name), body=body, plan="plan", secret="s", created_ms=1_000_000, **more
    )


def step(path: str = "t:0:c0:candidate:0", **more: Any) -> StepRecord:
    """Return a step."""
    return StepRecord(path, "key", **more)


def claim(record: RunRecord, matching: Matching = "name", *, again: bool = False) -> Claim:
    """Return the wish to carry *record* out."""
    return Claim(record, LEASE_MS, matching, again)


async def claimed(journal: Journal, record: RunRecord, matching: Matching = "name") -> Claimed:
    """Claim *record*, which nobody holds."""
    answer = await journal.claim(claim(record, matching))
    assert isinstance(answer, Claimed)
    return answer
