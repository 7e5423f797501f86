"""What every section of the router's settings is."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Base of every section: nothing unknown, nothing changed after loading."""

    model_config = ConfigDict(frozen=True, extra="forbid")
