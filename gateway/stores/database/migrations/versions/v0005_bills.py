"""What a bill needs of each sub-call: its technique, its price row, all kinds of its tokens."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0005"
down_revision = "v0004"
branch_labels = None
depends_on = None

_SAID = sa.text("session IS NOT NULL")


def upgrade() -> None:
    """Add the columns; rows of before get what is known of their requests.

    Columns that must have a value have a default: older replicas go on writing meanwhile.
    """
    op.add_column("ledger", sa.Column("technique", sa.String, nullable=False, server_default=""))
    for name in ("session", "tags", "price", "caveats"):
        op.add_column("ledger", sa.Column(name, sa.String))
    for name in (
        "cache_write_1h_tokens",
        "audio_input_tokens",
        "audio_output_tokens",
        "image_input_tokens",
        "image_output_tokens",
        "images",
    ):
        op.add_column("ledger", sa.Column(name, sa.BigInteger, nullable=False, server_default="0"))
    op.execute(
        "UPDATE ledger SET (technique, session, tags) ="
        " (SELECT technique, session, REPLACE(tags, ',', ' ')"
        " FROM requests WHERE requests.request_id = ledger.request_id)"
        " WHERE request_id IN (SELECT request_id FROM requests)"
    )
    op.create_index(
        "ledger_session", "ledger", ["session"], sqlite_where=_SAID, postgresql_where=_SAID
    )
