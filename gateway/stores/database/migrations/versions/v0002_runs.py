"""Runs and their steps."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0002"
down_revision = "v0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "runs",
        sa.Column("owner", sa.String, primary_key=True),
        sa.Column("run", sa.String, primary_key=True),
        sa.Column("body", sa.String, nullable=False),
        sa.Column("session", sa.String),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("background", sa.Integer, nullable=False),
        sa.Column("token", sa.BigInteger, nullable=False),
        sa.Column("until_ms", sa.BigInteger, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("written_ms", sa.BigInteger, nullable=False),
        sa.Column("record", sa.String, nullable=False),
        sa.Column("standing", sa.String, nullable=False),
    )
    op.create_index("runs_body", "runs", ["owner", "body"])
    op.create_index("runs_session", "runs", ["owner", "session"])
    op.create_index("runs_written", "runs", ["written_ms"])
    op.create_index("runs_state", "runs", ["state", "background"])
    op.create_table(
        "steps",
        sa.Column("owner", sa.String, primary_key=True),
        sa.Column("run", sa.String, primary_key=True),
        sa.Column("path", sa.String, primary_key=True),
        sa.Column("record", sa.String, nullable=False),
    )
