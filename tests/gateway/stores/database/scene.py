"""Rows to write, and a database to write them into."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from gateway.stores.database.engine import Database, opened
from gateway.stores.database.rows import LedgerRow, RequestRow

AT = 1_764_000_000_000_000


def ledger_row(name: str = "r1.0", **fields: Any) -> LedgerRow:
    """Return a row; a field that is not said is that of an ordinary call."""
    usual = LedgerRow(
        name,
        request_id=name.partition(".")[0],
        run="run-1",
        step="0",
        role="answer",
        key="app",
        team="research",
        model="fast",
        provider="oa",
        input_tokens=10,
        output_tokens=5,
        cache_read_tokens=0,
        cache_write_tokens=3,
        reasoning_tokens=1,
        cost=1_500_000,
        cost_source="operator",
        estimated=False,
        reasoning_estimated=True,
        outcome="ok",
        started_at=AT,
        ms=12.5,
    )
    return usual._replace(**fields)


def request_row(name: str = "r1", **fields: Any) -> RequestRow:
    """Return a request; a field that is not said is that of an ordinary one."""
    usual = RequestRow(
        request_id=name,
        run="run-1",
        session="s",
        tags=None,
        key="app",
        team="research",
        dialect="openai_chat",
        model="fast",
        technique="none",
        outcome="success",
        status=200,
        warnings='["a: b"]',
        ended_at=AT,
        ms=20.0,
    )
    return usual._replace(**fields)


@asynccontextmanager
async def database(url: str) -> AsyncGenerator[Database, None]:
    """Open the database at *url*."""
    async with opened(url) as it:
        yield it
