"""Keys whose runs are kept in the memory of a process alone."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0004"
down_revision = "v0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("keys", sa.Column("journal", sa.String))
