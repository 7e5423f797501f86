"""What is done with conversations that grow too long for their model."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from gateway.config.values import worded
from router_service.groundwork.section import Section

OnWall = Literal["off", "refuse", "drop_tool_results", "summarise", "truncate"]


class ContextConfig(Section):
    """How far the gateway may go with a conversation under a technique.

    ``at`` is the share of the model's ``capabilities.context`` from which on it is too long,
    ``keep_last`` how many turns at its end stay as they are, ``model`` who writes summaries.
    """

    on_wall: Annotated[OnWall, BeforeValidator(worded)] = "off"
    at: float = Field(0.6, gt=0, le=1)
    keep_last: int = Field(4, ge=1, le=1000)
    model: str | None = None
