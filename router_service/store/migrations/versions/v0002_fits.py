"""What was found by fits, and who had it served."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0002"
down_revision = "v0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "router_fits",
        sa.Column("revision", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        *(sa.Column(name, sa.String, nullable=False) for name in ("router", "by", "report")),
        *(sa.Column(name, sa.String, nullable=False) for name in ("found", "checksum")),
        sa.Column("withdrawn_at", sa.BigInteger),
        sa.Column("withdrawn_by", sa.String, nullable=False),
    )
