"""Always what happens without a router: the first arm on offer."""

from __future__ import annotations

from collections.abc import Sequence

from router_service.contract import Observation, RouteQuery
from router_service.routers import router
from router_service.routers.settings import RoutersSettings
from router_service.scores import Score, Scorer, Scores


class Fixed:
    """It learns nothing."""

    def __call__(self, query: RouteQuery) -> Scores:
        """Take the first arm on offer."""
        return Scores({query.offers[0].arm: Score(0.0, 0.0)}, "fixed: the default technique")

    def learnt(self, rows: Sequence[Observation], *, afresh: bool = False) -> Fixed:
        """Return the same."""
        del rows, afresh
        return self


@router
def fixed(settings: RoutersSettings) -> Scorer:
    """Make the router that always takes the first arm on offer."""
    del settings
    return Fixed()
