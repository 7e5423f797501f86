"""What every section of a configuration is, the gateway's and the router's."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Base of every section: nothing unknown, nothing changed after loading."""

    model_config = ConfigDict(frozen=True, extra="forbid")
