"""How well costs are known: by the worst of what they are made of."""

from __future__ import annotations

from collections.abc import Iterable

from gateway.metering.ledger import CallFinished
from pricing.source import Tier, tier, worst_tier


def tier_of(row: CallFinished) -> Tier:
    """Return how well the cost of *row* is known, in one word."""
    return tier(row.cost_source, estimated=row.estimated, thinking=row.reasoning_estimated)


def cost_tier(rows: Iterable[CallFinished]) -> Tier:
    """Return how well the sum of the costs of *rows* is known."""
    return worst_tier([tier_of(row) for row in rows])


def caveats(rows: Iterable[CallFinished]) -> list[str]:
    """Return what the prices of *rows* do not fit, each once."""
    return sorted({caveat for row in rows for caveat in row.caveats})
