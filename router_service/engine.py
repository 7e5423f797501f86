"""Runs the configured router in this process."""

from __future__ import annotations

from router_service import routers
from router_service.contract import RouteDecision, RouteQuery
from techniques.core.discover import import_all


class Engine:
    """The router called *name*.

    Raises:
        KeyError: There is none.
    """

    def __init__(self, name: str) -> None:
        import_all(routers)
        self._name = name
        self._score = routers.SCORERS[name]

    def decide(self, query: RouteQuery) -> RouteDecision:
        """Choose the arm of the greatest utility."""
        scores = self._score(query)
        best = max(scores.arms, key=lambda arm: scores.arms[arm].utility)
        return RouteDecision(arm=best, why=scores.why, router=self._name)

    async def route(self, query: RouteQuery) -> RouteDecision:
        """Decide."""
        return self.decide(query)
