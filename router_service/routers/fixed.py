"""Always what happens without a router: the first arm on offer."""

from __future__ import annotations

from router_service.contract import RouteQuery
from router_service.routers import router
from router_service.scores import Score, Scores


@router
def fixed(query: RouteQuery) -> Scores:
    """Take the first arm on offer."""
    return Scores({query.offers[0].arm: Score(0.0, 0.0)}, "fixed: the default technique")
