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
        self._decide = routers.DECIDERS[name]

    def route(self, query: RouteQuery) -> RouteDecision:
        """Decide."""
        return self._decide(query)
