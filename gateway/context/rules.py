"""What may be done to a conversation that is too long, as the operator said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

OnWall: TypeAlias = Literal["off", "refuse", "drop_tool_results", "summarise", "truncate"]
Method: TypeAlias = Literal["drop_tool_results", "summarise", "truncate"]


@dataclass(frozen=True, slots=True)
class Rules:
    """How far the gateway may go, and when.

    ``at`` is the share of the model's window from which on a conversation is too long,
    ``keep_last`` how many of its last turns stay as they are, ``model`` who writes summaries
    (None: the model that answers).
    """

    on_wall: OnWall = "off"
    at: float = 0.6
    keep_last: int = 4
    model: str | None = None
