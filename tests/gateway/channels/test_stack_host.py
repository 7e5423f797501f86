"""A run that is put away has the server of its model keep what it computed."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.channels.retrying import RetryPolicy
from gateway.channels.stack import Stack
from gateway.metering.ledger import Ledger
from gateway.runs.live import LiveRun
from gateway.runs.pen import Held
from gateway.stores.journal.journal import Hold
from gateway.stores.journal.memory import MemoryJournal
from gateway.stores.journal.records import RunName, RunRecord, Standing, Stored
from gateway.upstream.llama_cpp.kept import Session
from tests.gateway.planning.scene import model

NAME = RunName("k", "run")


@pytest.mark.parametrize("session", [Session("k", "s"), None])
async def test_a_session_on_a_host_is_kept_when_its_run_is_put_away(
    session: Session | None,
) -> None:
    kept: list[Session] = []

    async def on_suspended(of: Session) -> None:
        kept.append(of)

    host: Any = SimpleNamespace(name="p", on_suspended=on_suspended)
    found = Stored(RunRecord(NAME, "body", "plan", "secret", 0), Standing(), 1)
    live = LiveRun(Held(MemoryJournal(), Hold(NAME, 1)), found, Ledger())
    stack = Stack(RetryPolicy(), Random(1), Ledger(), journal=live, session=session)
    stack.plain((replace(model("fast"), host=host),))
    for prepare in live.on_suspended.values():
        await prepare()
    assert kept == ([] if session is None else [session])
