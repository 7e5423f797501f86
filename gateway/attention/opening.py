"""Opens what counts the uses of tools, and asks people."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from gateway.attention.asking import Asking
from gateway.attention.attending import Attending
from gateway.attention.board import Board
from gateway.attention.memory import MemoryApprovals
from gateway.attention.persons import persons_of
from gateway.attention.quota import Meter
from gateway.attention.tables import ApprovalTables
from gateway.attention.tools import ToolQuotas, Waits
from gateway.attention.webhooks import WebhookPolicy, Webhooks
from gateway.config import Config, Secrets
from gateway.metering.meters.attention import AttentionCounts
from gateway.stores.database.engine import Database
from gateway.stores.database.records import now
from gateway.stores.ledger import LedgerStore
from gateway.stores.memory import MemoryLedger
from gateway.upstream.ways import ways_of
from techniques.core.groups import task_group


def ledger_for(config: Config, shared: LedgerStore | None) -> LedgerStore:
    """Return the ledger to count on: the *shared* one where replicas share it, else an own.

    The own ledger of several workers takes a part of each window, and a window of one has no parts.
    """
    return MemoryLedger() if shared is None or config.store.redis is None else shared


def tool_quotas(config: Config, meter: Meter) -> ToolQuotas | None:
    """Return the quotas that *config* states, None without any; *meter* counts on the ledger."""
    stated = config.tool_quota
    if not stated.tools:
        return None
    patience = config.pacing.patience
    return ToolQuotas(
        meter,
        stated.tools,
        stated.action,
        waits=Waits(patience.stream_s, patience.json_s),
        shared_by=1 if config.store.redis is not None else config.server.workers,
    )


@asynccontextmanager
async def asking_people(
    config: Config,
    secrets: Secrets,
    counts: AttentionCounts,
    *,
    shared: LedgerStore | None,
    database: Database | None,
) -> AsyncGenerator[Board | None, None]:
    """Ask the persons of *config* what comes on the board, None without any; leaving ends it.

    For *shared* see ``ledger_for``. Without a *database* questions end with the process.
    """
    stated = config.attention
    if not stated.persons:
        yield None
        return
    store = MemoryApprovals() if database is None else ApprovalTables(database)
    attending = Attending(store, Meter(ledger_for(config, shared)), now)
    board = Board(
        persons_of(stated, secrets.key_secret or ""), attending, counts, expires_s=stated.expires
    )
    ways = ways_of(config.upstream)
    policy = WebhookPolicy(stated.attempts, stated.retry_s, stated.allow_private, ways)
    async with task_group() as group:
        group.start_soon(Asking(board, Webhooks(board, policy)).serve)
        yield board
        group.cancel_scope.cancel()
