"""How a window comes to be, and to be another: by what is defined, and by what an answer says."""

from __future__ import annotations

from typing import TypeAlias

from gateway.admission.purse import Purse
from gateway.admission.windows import Window
from gateway.stores.ledger import WindowReading, WindowSpec

AnyWindow: TypeAlias = Window | Purse


def define(there: AnyWindow | None, spec: WindowSpec, now: float) -> AnyWindow:
    """Return the window that *spec* makes of what is *there*."""
    if there is None or _differs(there, spec):
        return _made(spec, now, 0 if there is None else there.held)
    if isinstance(there, Purse):
        there.resize(spec.cap)
    elif not spec.provisional:
        if spec.kind in {"bucket", "fixed"} and (spec.kind, spec.period_ms) != (
            there.kind,
            there.period,
        ):
            there.reshape(spec.kind, spec.period_ms, _ends(spec, now))
        there.resize(spec.cap)
        if spec.level is not None and spec.kind != "gauge":
            there.chill(spec.level)
    return there


def _differs(there: AnyWindow, spec: WindowSpec) -> bool:
    """Tell whether nothing of what is there holds for *spec*."""
    if isinstance(there, Purse) or spec.kind == "never":
        return isinstance(there, Purse) != (spec.kind == "never")
    if spec.provisional:
        return False
    return there.provisional or (there.kind == "gauge") != (spec.kind == "gauge")


def _made(spec: WindowSpec, now: float, held: float) -> AnyWindow:
    if spec.kind == "never":
        left = spec.cap - spec.used
        return Purse(spec.name, spec.cap, left, left)
    level = spec.cap if spec.level is None else min(spec.level, spec.cap)
    return Window(
        spec.name,
        spec.kind,
        cap=spec.cap,
        level=level - held,
        at=now,
        period=spec.period_ms,
        ends=_ends(spec, now),
        held=held,
        cold=spec.level is not None,
        provisional=spec.provisional,
        told=spec.told,
    )


def _ends(spec: WindowSpec, now: float) -> float:
    return now + (spec.ends_in_ms or spec.period_ms) if spec.kind == "fixed" else 0


def read_into(there: AnyWindow | None, reading: WindowReading, now: float) -> Window | None:
    """Return the window that *reading* is to be read into, None if there is none.

    A reading that tells the limit makes a window where there is none or only a guess.
    """
    if isinstance(there, Purse) or reading.kind == "never":
        return None
    if there is not None and not there.provisional:
        return there
    if reading.limit is None or reading.limit <= 0:
        return there
    held = 0 if there is None else there.held
    return Window(
        reading.name,
        reading.kind,
        cap=reading.limit,
        level=reading.limit - held,
        at=now,
        period=reading.period_ms,
        ends=now + reading.period_ms if reading.kind == "fixed" else 0,
        held=held,
        cold=True,
    )
