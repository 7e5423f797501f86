"""What crosses between the gateway and the router: the only module the gateway imports."""

from __future__ import annotations

from typing import Protocol

from pydantic import BaseModel, Field


class RouteQuery(BaseModel, frozen=True):
    """What the router may look at. ``techniques`` are those on offer, the default first."""

    model: str
    techniques: tuple[str, ...] = Field(min_length=1)


class RouteDecision(BaseModel, frozen=True):
    """One of the techniques that were on offer; ``why`` is for people."""

    technique: str
    why: str


class Router(Protocol):
    """Anything that decides."""

    def route(self, query: RouteQuery) -> RouteDecision:
        """Decide, at once and from *query* alone."""
        ...
