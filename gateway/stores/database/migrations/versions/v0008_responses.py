"""Responses that clients can come back to, and the items in them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0008"
down_revision = "v0007"
branch_labels = None
depends_on = None

_STOPS = sa.text("state = 'cancelling'")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "responses",
        sa.Column("owner", sa.String, primary_key=True),
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("parent", sa.String),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("background", sa.Integer, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("used_ms", sa.BigInteger, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("record", sa.String, nullable=False),
    )
    op.create_index("responses_used", "responses", ["used_ms"])
    op.create_index("responses_owner", "responses", ["owner", "created_ms"])
    op.create_index(
        "responses_state", "responses", ["state"], sqlite_where=_STOPS, postgresql_where=_STOPS
    )
    op.create_table(
        "response_items",
        sa.Column("owner", sa.String, primary_key=True),
        sa.Column("item", sa.String, primary_key=True),
        sa.Column("response", sa.String, nullable=False),
    )
    op.create_index("response_items_of", "response_items", ["owner", "response"])
