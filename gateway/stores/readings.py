"""Brings what answers tell into the form in which the ledger keeps it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gateway.admission.limits import Learned
from gateway.admission.reading import Dimension, Reading, Scope, Told
from gateway.stores.ledger import Kind, WindowReading, WindowSpec

_MINUTE_S = 60.0


def window(model: str, dimension: Dimension, period_s: float | None, scope: Scope = "model") -> str:
    """Return the name of an upstream account's window; ``*`` stands for all models."""
    owner = "*" if scope == "account" else model
    seconds = 0 if dimension == "concurrency" else _seconds(period_s)
    return f"{owner}:{dimension}:{seconds}"


def readings(told: Told, model: str) -> Sequence[WindowReading]:
    """Return what *told*, by an answer of *model*, says of the ledger's windows."""
    return [
        _reading(row, model)
        for row in told.readings
        if row.limit is not None or row.remaining is not None
    ]


def exhausted(told: Told, model: str) -> str | None:
    """Return the name of the window that a refusal of *model* was for, None if it did not say."""
    if told.exhausted is None:
        return None
    dimension, period_s = told.exhausted
    rows = [
        row
        for row in told.readings
        if row.dimension == dimension and period_s in {None, row.period_s}
    ]
    if not rows:
        return window(model, dimension, period_s)
    row = min(rows, key=lambda row: bool(row.remaining))  # of two it is not the one that has room
    return window(model, dimension, row.period_s, row.scope)


def provisional(learned: Learned, model: str) -> WindowSpec:
    """Return the window that a refusal of *model* taught, empty as it must be."""
    kind: Kind = "gauge" if learned.dimension == "concurrency" else "bucket"
    return WindowSpec(
        window(model, learned.dimension, learned.period_s),
        kind,
        learned.cap,
        period_ms=round(1000 * learned.period_s),
        level=None if kind == "gauge" else 0,
        provisional=True,
    )


def _reading(row: Reading, model: str) -> WindowReading:
    return WindowReading(
        window(model, row.dimension, row.period_s, row.scope),
        _remaining(row),
        row.limit,
        _kind(row),
        0 if row.dimension == "concurrency" else 1000 * _seconds(row.period_s),
        None if row.reset_s is None else math.ceil(1000 * row.reset_s),
    )


def _remaining(row: Reading) -> float | None:
    """Return what is left.

    Of a window that is used up, and of which nobody knows how it fills, it is so little that there
    is one again just when it is reset.
    """
    used_up = row.remaining == 0 and row.refill == "unknown"
    if not used_up or row.limit is None or row.reset_s is None:
        return row.remaining
    return 1 - row.limit / _seconds(row.period_s) * row.reset_s


def _kind(row: Reading) -> Kind:
    if row.dimension == "concurrency":
        return "gauge"
    return "fixed" if row.refill == "fixed" else "bucket"


def _seconds(period_s: float | None) -> int:
    return max(1, round(_MINUTE_S if period_s is None else period_s))
