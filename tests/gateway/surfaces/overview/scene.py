"""Requests, runs and accounts to look on."""

from __future__ import annotations

from typing import Any

from gateway.app import CHAT
from gateway.metering.ledger import Ledger
from gateway.pipeline import Asked
from gateway.planning.plan import Plan
from gateway.policy.keys import Caller
from gateway.policy.wishes import Wishes
from gateway.runs.book import RunBook
from gateway.runs.cast import Cast
from gateway.runs.ending import Here
from gateway.runs.live import LiveRun
from gateway.runs.pen import Held
from gateway.runs.wanted import Wanted
from gateway.stores.journal.journal import Hold
from gateway.stores.journal.memory import MemoryJournal
from gateway.stores.journal.records import RunName, RunRecord, Standing, StepRecord, Stored
from gateway.surfaces.visit import Visit
from tests.gateway.surfaces.scene import Stage, chat

NOW_MS = 1_800_000_000_000


def visit(name: str, key: str | None = "app", run: str | None = None) -> Visit:
    """Return a request that is being served, planned as a plain call."""
    stage = Stage()
    call = CHAT.decode(chat(), b"{}")
    caller = Caller(key)
    asked = Asked(call, caller, Wishes(session="s"), request_id=name)
    plan: Plan = stage.front.pipeline.plan(asked)
    return Visit(name, "openai_chat", b"", {}, Ledger(), asked=asked, plan=plan, run=run)


def stored(name: str, *steps: str, owner: str = "app", **standing: Any) -> Stored:
    """Return a run of which so many seconds ago nothing was known, with steps in these states."""
    record = RunRecord(
        RunName(owner, name),
        body="b",
        plan="p",
        secret="hidden",
        created_ms=NOW_MS - 5_000,
        technique="self_consistency",
        model="fast",
    )
    found = [
        StepRecord(f"t:{place}", "k", state, seq=place + 1, attempts=1, cost=10**9)  # type: ignore[arg-type]
        for place, state in enumerate(steps)
    ]
    return Stored(record, Standing(**standing), 1, lease_ms=1000, steps=tuple(found))


def book(*found: Stored) -> RunBook:
    """Return the book of a process that carries these runs out."""
    journal = MemoryJournal()
    kept = RunBook(journal)
    for one in found:
        name = one.record.name
        live = LiveRun(Held(journal, Hold(name, 1)), one, Ledger())
        kept.floor.here[name] = Here(live, Wanted(*name, "", "b", "p"), Cast())
    return kept
