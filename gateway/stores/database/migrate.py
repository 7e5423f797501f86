"""How the gateway's tables came to be as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import Connection

from gateway.stores.database.tables import CHANGES, METADATA
from router_service.groundwork.steps import Steps

HEAD: Final = "v0009"
"""The last step; a test holds it against the modules in ``migrations/versions``."""


def _begin(connection: Connection) -> None:
    connection.execute(CHANGES.insert().values(id=1, number=0))


STEPS: Final = Steps(
    METADATA, Path(__file__).parent / "migrations", HEAD, "alembic_version", _begin
)
