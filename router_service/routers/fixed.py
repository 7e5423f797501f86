"""Always the default: the first technique on offer."""

from __future__ import annotations

from router_service.contract import RouteDecision, RouteQuery
from router_service.routers import router


@router
def fixed(query: RouteQuery) -> RouteDecision:
    """Take the first technique on offer."""
    return RouteDecision(technique=query.techniques[0], why="fixed: the default technique")
