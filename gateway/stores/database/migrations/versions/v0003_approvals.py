"""Questions to people, when they were asked, and who is away."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0003"
down_revision = "v0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    _approvals()
    _asks()
    op.create_table(
        "absences",
        sa.Column("person", sa.String, primary_key=True),
        sa.Column("since", sa.BigInteger, nullable=False),
        sa.Column("until", sa.BigInteger),
    )


def _approvals() -> None:
    op.create_table(
        "approvals",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("hash", sa.String, nullable=False),
        sa.Column("tenant", sa.String, nullable=False),
        sa.Column("key", sa.String),
        sa.Column("person", sa.String, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("question", sa.String, nullable=False),
        sa.Column("detail", sa.String, nullable=False),
        sa.Column("options", sa.String, nullable=False),
        sa.Column("urgent", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("ask", sa.String),
        sa.Column("asked_at", sa.BigInteger),
        sa.Column("decided_at", sa.BigInteger),
        sa.Column("option", sa.String),
        sa.Column("note", sa.String),
    )
    op.create_index("approvals_state", "approvals", ["state", "hash"])
    op.create_index("approvals_person", "approvals", ["person", "created_at"])
    op.create_index("approvals_tenant", "approvals", ["tenant", "created_at"])


def _asks() -> None:
    op.create_table(
        "asks",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("person", sa.String, nullable=False),
        sa.Column("asked_at", sa.BigInteger, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("due_at", sa.BigInteger),
        sa.Column("delivered_at", sa.BigInteger),
    )
    op.create_index("asks_person", "asks", ["person", "asked_at"])
    op.create_index("asks_due", "asks", ["due_at"])
