"""What was observed, and how often it has changed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    changes = op.create_table(
        "router_changes",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.CheckConstraint("id = 1", name="router_one_row"),
    )
    op.bulk_insert(changes, [{"id": 1, "revision": 0, "epoch": 0}])
    op.create_table(
        "router_observations",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("request_id", sa.String, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        *(sa.Column(name, sa.String, nullable=False) for name in ("caller", "model", "arm")),
        sa.Column("encoder", sa.String, nullable=False),
        sa.Column("vector", sa.LargeBinary),
        sa.Column("sealed", sa.String, nullable=False),
        *(sa.Column(name, sa.String, nullable=False) for name in ("features", "pool")),
        sa.Column("params_hash", sa.String, nullable=False),
        sa.Column("propensity", sa.Float, nullable=False),
        sa.Column("explored", sa.Boolean, nullable=False),
        sa.Column("counterfactual", sa.Boolean, nullable=False),
        *(sa.Column(name, sa.Float) for name in ("quality", "plain_quality")),
        sa.Column("source", sa.String, nullable=False),
        sa.Column("reliability", sa.Float, nullable=False),
        sa.Column("repeats", sa.BigInteger, nullable=False),
        *(sa.Column(name, sa.Float) for name in ("spread", "cost_usd", "cost")),
        sa.Column("calls", sa.BigInteger, nullable=False),
        *(sa.Column(name, sa.Float) for name in ("latency_ms", "first_token_ms")),
        sa.Column("outcome", sa.String, nullable=False),
    )
    _index("revision", "revision", unique=True)
    _index("request", "request_id")
    _index("caller", "caller")
    _index("at", "at")


def _index(name: str, column: str, *, unique: bool = False) -> None:
    table = "router_observations"
    op.create_index(f"{table}_{name}", table, [column], unique=unique)
