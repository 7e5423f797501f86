"""Tells who tries arms out what requests have cost: of each once, however often it comes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from router_service.contract import Observation
from router_service.learning.explorer import Explorer

_DAY_S: Final = 86_400.0
_MOST: Final = 100_000


def _now() -> float:
    return datetime.now(UTC).timestamp()


class Earned:
    """Has *explorer* count what requests of the last day cost: a share is its to spend.

    A row comes again where an import is repeated, or a gateway has not heard that it was kept. The
    ids of the last *most* rows are remembered. Without an *explorer* nothing is counted.
    """

    def __init__(self, explorer: Explorer | None, most: int = _MOST) -> None:
        self._explorer = explorer
        self._most = most
        self._known: OrderedDict[str, None] = OrderedDict()

    def __call__(self, rows: Sequence[Observation]) -> None:
        """Count *rows*, which were kept."""
        if self._explorer is not None:
            self._explorer.observe(self._new(rows, _now() - _DAY_S))

    def _new(self, rows: Sequence[Observation], since: float) -> Iterator[Observation]:
        for row in rows:
            if row.at < since or row.id in self._known:
                continue
            self._known[row.id] = None
            if len(self._known) > self._most:
                self._known.popitem(last=False)
            yield row
