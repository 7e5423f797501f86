"""What is told to the script, and what it answers.

Amounts travel as text: the script's numbers are too coarse for money.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from gateway.admission.left import Left
from gateway.stores.ledger import (
    Amounts,
    Answer,
    Entry,
    Granted,
    Never,
    PoolState,
    QueueFull,
    Unknown,
    Waiting,
    WindowReading,
    WindowSpec,
    WindowState,
)

_MOST: Final = 2**62 - 1


def _text(amount: int) -> str:
    """Return *amount* as text, no larger than what 64 bits can be counted with."""
    return str(min(amount, _MOST))


def amounts(of: Amounts) -> dict[str, str]:
    """Return amounts as text."""
    return {name: _text(amount) for name, amount in of.items()}


def asked(entry: Entry, *, dispatched: bool) -> dict[str, Any]:
    """Return what ``admit`` needs of *entry*."""
    needs: dict[str, int] = {}
    for ask in entry.asks:
        for name, need in ask.needs.items():
            needs[name] = needs.get(name, 0) + need
    place = entry.place
    told = {
        "id": entry.id,
        "asks": [[ask.lease, amounts(ask.needs)] for ask in entry.asks],
        "needs": amounts(needs),
        "names": sorted(needs),
        "tenant": place.tenant,
        "priority": place.priority,
        "weight": place.weight,
        "since": place.since_ms,
        "queue": place.queue,
        "dispatched": dispatched,
    }
    return told if place.tag is None else {**told, "tag": int(place.tag)}


def specs(windows: Sequence[WindowSpec]) -> list[dict[str, Any]]:
    """Return definitions."""
    return [
        {
            "name": spec.name,
            "kind": spec.kind,
            "cap": _text(spec.cap),
            "period": spec.period_ms,
            "ends_in": spec.ends_in_ms,
            "used": _text(spec.used),
            "provisional": spec.provisional,
            **({} if spec.level is None else {"level": spec.level}),
            **({} if spec.told else {"untold": True}),
        }
        for spec in windows
    ]


def readings(of: Sequence[WindowReading]) -> list[dict[str, Any]]:
    """Return readings; what was not said is left out."""
    return [
        {
            name: value
            for name, value in (
                ("name", reading.name),
                ("kind", reading.kind),
                ("period", reading.period_ms),
                ("remaining", reading.remaining),
                ("limit", reading.limit),
                ("reset", reading.reset_ms),
                ("exact", reading.exact or None),
                ("bounded", reading.bounded or None),
            )
            if value is not None
        }
        for reading in of
        if reading.is_finite
    ]


def answer(told: Sequence[str]) -> Answer:
    """Read the script's answer about an entry."""
    match told:
        case ["granted", tag, *left]:
            return Granted(float(tag), tuple(_left(left)))
        case ["waiting", eta, position, binding, tag]:
            return Waiting(int(eta) if eta else None, int(position), binding, float(tag))
        case ["never", binding, left]:
            return Never(binding, int(left))
        case ["full", which]:
            return QueueFull(tenant=which == "tenant")
        case ["unknown", window]:
            return Unknown(window)
        case _:
            raise ValueError(f"not an answer of the ledger: {told!r}")


def _left(told: Sequence[str]) -> Iterator[Left]:
    for at in range(0, len(told), 4):
        cap, left, full_ms = (int(float(number)) for number in told[at + 1 : at + 4])
        yield Left(told[at], cap, left, full_ms)


def pool_state(told: Sequence[Any]) -> PoolState:
    """Read how a pool stands."""
    states, queued, leases, orphans, ungrabbed = told
    windows = tuple(_purse(state) if state[1] == "never" else _window(state) for state in states)
    return PoolState(windows, int(queued), int(leases), int(orphans), int(ungrabbed))


def _purse(told: Sequence[str]) -> WindowState:
    name, _, cap, left, free = told
    return WindowState(
        name=name,
        kind="never",
        cap=int(cap),
        level=int(left),
        margin=0,
        rate=0,
        drain=0,
        blocked_ms=0,
        ends_in_ms=None,
        held=int(free) - int(left),
        provisional=False,
    )


def _window(told: Sequence[Any]) -> WindowState:
    name, kind, cap, level, margin, rate, drain, blocked, ends, held, provisional = told
    return WindowState(
        name=name,
        kind=kind,
        cap=int(float(cap)),
        level=float(level),
        margin=float(margin),
        rate=float(rate),
        drain=float(drain),
        blocked_ms=int(float(blocked)),
        ends_in_ms=int(float(ends)) if ends else None,
        held=int(float(held)),
        provisional=bool(provisional),
    )


def used(of: Mapping[str, int]) -> dict[str, str]:
    """Return what was used, never less than nothing."""
    return {name: _text(max(0, amount)) for name, amount in of.items()}
