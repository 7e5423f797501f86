"""By a table that somebody wrote: for which requests, and how hard ones, which technique."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from router_service.contract import Observation, RouteQuery
from router_service.routers import router
from router_service.routers.settings import RoutersSettings
from router_service.routers.table_settings import PILOT, AcmTableSettings, TableRow, plain
from router_service.scores import Score, Scorer, Scores
from techniques.core.json import Json


class AcmTable:
    """It learns nothing; how hard a question is, the technique ``acm`` finds out."""

    def __init__(self, settings: AcmTableSettings) -> None:
        self._tables = tuple(settings.tables())

    def __call__(self, query: RouteQuery) -> Scores:
        """Take what the first table says whose arm may be taken, else the first arm on offer."""
        masked = {offer.arm: offer.masked for offer in query.offers if offer.masked}
        free = {offer.arm for offer in query.offers} - set(masked)
        for arm, params, names in self._said(query):
            if arm in free:
                why = f"acm_table: {names}"
                return Scores({arm: Score(0.0, 0.0)}, why, masked=masked, params={arm: params})
        first = query.offers[0].arm
        why = "acm_table: no row for it"
        return Scores({first: Score(0.0, 0.0)} if first in free else {}, why, masked=masked)

    def learnt(self, rows: Sequence[Observation], *, afresh: bool = False) -> AcmTable:
        """Return the same."""
        del rows, afresh
        return self

    def _said(self, query: RouteQuery) -> Sequence[tuple[str, Mapping[str, Json], str]]:
        """Return the arm, its options and the names of the rows, of each table that holds."""
        if not self._tables:
            return [(PILOT, {}, "how hard it is")]
        return [_dispatch(rows) for rows in self._tables if rows[0].when.holds(query.features)]


def _dispatch(rows: Sequence[TableRow]) -> tuple[str, Mapping[str, Json], str]:
    names = ", ".join(row.name for row in rows)
    if len(rows) == 1:
        return rows[0].arm, rows[0].params, names
    return PILOT, {"table": [plain(row) for row in rows]}, names


@router
def acm_table(settings: RoutersSettings) -> Scorer:
    """Make the router that goes by the table in *settings*."""
    return AcmTable(settings.acm_table)
