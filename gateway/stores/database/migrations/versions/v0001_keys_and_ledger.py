"""Keys, teams, budgets, requests and the ledger."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    _changes()
    _teams()
    _keys()
    _budgets()
    _requests()
    _ledger()
    op.execute("INSERT INTO changes (id, number) VALUES (1, 0)")


def _changes() -> None:
    op.create_table(
        "changes",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.CheckConstraint("id = 1", name="one_row"),
    )


def _teams() -> None:
    op.create_table(
        "teams",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )


def _keys() -> None:
    op.create_table(
        "keys",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("prefix", sa.String, nullable=False),
        sa.Column("hash", sa.String, nullable=False, unique=True),
        sa.Column("team", sa.String),
        sa.Column("models", sa.String),
        sa.Column("techniques", sa.String),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("weight", sa.Float, nullable=False),
        sa.Column("rpm", sa.BigInteger),
        sa.Column("tpm", sa.BigInteger),
        sa.Column("concurrency", sa.BigInteger),
        sa.Column("max_calls", sa.BigInteger),
        sa.Column("max_cost", sa.BigInteger),
        sa.Column("deadline_ms", sa.BigInteger),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("revoked_at", sa.BigInteger),
        sa.Column("changed", sa.BigInteger, nullable=False),
    )
    op.create_index("keys_changed", "keys", ["changed"])
    op.create_index("keys_team", "keys", ["team"])


def _budgets() -> None:
    op.create_table(
        "budgets",
        sa.Column("kind", sa.String, primary_key=True),
        sa.Column("owner", sa.String, primary_key=True),
        sa.Column("period", sa.String, primary_key=True),
        sa.Column("cap", sa.BigInteger, nullable=False),
        sa.Column("tz", sa.String, nullable=False),
        sa.CheckConstraint("kind IN ('key', 'team')", name="owner_kind"),
    )


def _requests() -> None:
    op.create_table(
        "requests",
        sa.Column("request_id", sa.String, primary_key=True),
        sa.Column("run", sa.String, nullable=False),
        sa.Column("session", sa.String),
        sa.Column("tags", sa.String),
        sa.Column("key", sa.String),
        sa.Column("team", sa.String),
        sa.Column("dialect", sa.String, nullable=False),
        sa.Column("model", sa.String, nullable=False),
        sa.Column("technique", sa.String, nullable=False),
        sa.Column("outcome", sa.String, nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("warnings", sa.String, nullable=False),
        sa.Column("ended_at", sa.BigInteger, nullable=False),
        sa.Column("ms", sa.Float, nullable=False),
    )
    op.create_index("requests_ended_at", "requests", ["ended_at"])


def _ledger() -> None:
    op.create_table(
        "ledger",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("request_id", sa.String, nullable=False),
        sa.Column("run", sa.String, nullable=False),
        sa.Column("step", sa.String, nullable=False),
        sa.Column("role", sa.String, nullable=False),
        sa.Column("key", sa.String),
        sa.Column("team", sa.String),
        sa.Column("model", sa.String, nullable=False),
        sa.Column("provider", sa.String, nullable=False),
        sa.Column("input_tokens", sa.BigInteger, nullable=False),
        sa.Column("output_tokens", sa.BigInteger, nullable=False),
        sa.Column("cache_read_tokens", sa.BigInteger, nullable=False),
        sa.Column("cache_write_tokens", sa.BigInteger, nullable=False),
        sa.Column("reasoning_tokens", sa.BigInteger, nullable=False),
        sa.Column("cost", sa.BigInteger),
        sa.Column("cost_source", sa.String, nullable=False),
        sa.Column("estimated", sa.Boolean, nullable=False),
        sa.Column("reasoning_estimated", sa.Boolean, nullable=False),
        sa.Column("outcome", sa.String, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("ms", sa.Float, nullable=False),
    )
    op.create_index("ledger_request", "ledger", ["request_id"])
    op.create_index("ledger_run", "ledger", ["run"])
    op.create_index("ledger_key_time", "ledger", ["key", "started_at", "cost"])
    op.create_index("ledger_team_time", "ledger", ["team", "started_at", "cost"])
    op.create_index("ledger_time", "ledger", ["started_at"])
