"""Read by alembic: applies the steps over the connection that it was given."""

from __future__ import annotations

from alembic import context

given = context.config.attributes
context.configure(connection=given["connection"], version_table=given["version"])
context.run_migrations()
