"""What went wrong with a request, by our name of it: every replica tells of it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0007"
down_revision = "v0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; of requests of before nobody knows it, and older replicas leave it out."""
    op.add_column("requests", sa.Column("code", sa.String))
