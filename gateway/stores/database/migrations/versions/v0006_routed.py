"""What a router chose for a request, and by what."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0006"
down_revision = "v0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; requests that no router was asked for have nothing there."""
    op.add_column("requests", sa.Column("arm", sa.String))
    op.add_column("requests", sa.Column("router", sa.String))
    op.add_column("requests", sa.Column("propensity", sa.Float))
    op.add_column("requests", sa.Column("explored", sa.Boolean))
    op.add_column("requests", sa.Column("lambda", sa.Float))
