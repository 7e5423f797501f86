"""Windows of an account as they are before the ledger has them. Arithmetic only."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, cast

from gateway.admission.limits import Vendor
from gateway.admission.need.charge import ChargeRule
from gateway.admission.reading import Dimension
from gateway.stores.ledger import WindowReading, WindowSpec

_COLD: Final = 0.1
_ROUNDED: Final = 10
"""What is told of turns in whole seconds may be so small a part of a turn too late."""


def rule_of(vendor: Vendor) -> ChargeRule:
    """Return what *vendor* deducts for a call."""
    if vendor.charge == "actual" and vendor.cached_input_free:
        return "cached_free"
    return vendor.charge


def parts_of(name: str) -> tuple[str, Dimension, str]:
    """Return the name of a window, what it counts, and of which model."""
    model, dimension, _ = name.rsplit(":", 2)
    return name, cast("Dimension", dimension), model


def own_turn(row: WindowReading, period_ms: int) -> int | None:
    """Return when the window begins anew; what was told may be several of its turns."""
    if row.kind != "fixed" or row.reset_ms is None or row.reset_ms <= period_ms:
        return row.reset_ms
    left_ms = row.reset_ms % period_ms
    return left_ms if left_ms > period_ms / _ROUNDED else left_ms + period_ms


def cold(spec: WindowSpec, told: float | None, need: int) -> WindowSpec:
    """Return *spec* as it begins where an answer has *told* its level, or nothing has."""
    if told is not None and spec.kind != "gauge":
        return replace(spec, level=min(told, max(need, told // 2)))
    if spec.kind != "bucket":
        return spec
    return replace(spec, level=min(spec.cap, max(need, int(_COLD * spec.cap))))
