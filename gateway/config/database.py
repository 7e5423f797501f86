"""Where what must last is kept."""

from __future__ import annotations

from typing import Final

from pydantic import Field, field_validator

from router_service.groundwork.addresses import driven
from router_service.groundwork.section import Section

NO_DATABASE: Final = "none"


class DatabaseConfig(Section):
    """Keys, budgets and the ledger: an SQLite file, or PostgreSQL for several machines.

    ``url`` is ``sqlite:///PATH``, ``postgresql://USER:PASSWORD@HOST/NAME``, or ``none``: then the
    last requests are kept in memory, and keys come from the configuration only. ``pool`` bounds
    the connections of one process.
    """

    url: str = "sqlite+aiosqlite:///lockgate.db"
    pool: int = Field(5, ge=2, le=100)

    @field_validator("url", mode="before")
    @classmethod
    def _driven(cls, value: object) -> object:
        if not isinstance(value, str) or value == NO_DATABASE:
            return NO_DATABASE if value is None else value
        try:
            return driven(value)
        except ValueError as error:
            raise ValueError(
                "write sqlite:///PATH, postgresql://USER@HOST/NAME, or none"
            ) from error

    @property
    def kept(self) -> bool:
        """Whether there is a database at all."""
        return self.url != NO_DATABASE
