"""How the tables came to be as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import Connection

from router_service.groundwork.steps import Steps
from router_service.store.tables import CHANGES, METADATA

HEAD: Final = "v0002"
"""The last step; a test holds it against the modules in ``migrations/versions``."""


def _begin(connection: Connection) -> None:
    connection.execute(CHANGES.insert().values(id=1, revision=0, epoch=0))


STEPS: Final = Steps(METADATA, Path(__file__).parent / "migrations", HEAD, "router_version", _begin)
"""They have a version of their own, so the tables may lie in the gateway's database, too."""
