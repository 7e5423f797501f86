"""One request at a surface, as far as it has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter

from gateway.metering.ledger import Ledger
from gateway.pipeline import Asked
from gateway.planning.plan import Plan
from gateway.responses.keeping import Keeping
from gateway.wire.respond import Exchange, Leaving
from techniques.core.errors import GatewayError


@dataclass(slots=True)
class Visit:
    """One request, as far as it has come. ``run`` names its run if that is written down.

    ``keeping`` keeps its answer, None where that is not kept. ``warned`` is how many warnings its
    head told of.
    """

    request_id: str
    dialect: str
    id_header: bytes
    headers: Mapping[str, str]
    ledger: Ledger
    came: float = field(default_factory=perf_counter)
    asked: Asked | None = None
    plan: Plan | None = None
    exchange: Exchange | None = None
    error: GatewayError | None = None
    bug: bool = False
    status: int = 0
    run: str | None = None
    keeping: Keeping | None = None
    decoded: float = 0.0
    planned: float = 0.0
    leaving: Leaving | None = None
    warned: int = 0

    def keep(self, keeping: Keeping | None) -> None:
        """Have *keeping* keep the answer; what goes wrong with that is told with the rest."""
        self.keeping = keeping
        if keeping is not None:
            keeping.warn = self.ledger.record
