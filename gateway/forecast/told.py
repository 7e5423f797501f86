"""What clients are told of a forecast: figures of the middle and of the tenth that fares worst."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import ceil
from typing import Final

from gateway.forecast.asked import ForecastAsked
from gateway.forecast.calibration import SHARES
from gateway.forecast.live import Scene
from gateway.forecast.outcome import Outcome
from gateway.forecast.point import Point
from pricing.cost import dollars
from techniques.core.json import Json, JsonObject

_LIKELY: Final = 0.5


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest of *values* that *share* of them are not above."""
    return sorted(values)[max(ceil(share * len(values)) - 1, 0)]


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of a walk: how it is called, and how many places behind the point are told."""

    name: str
    of: Callable[[Outcome], float]
    places: int | None = None


MEASURES: Final = (
    Measure("tokens", lambda it: it.tokens),
    Measure("input_tokens", lambda it: it.input),
    Measure("output_tokens", lambda it: it.output),
    Measure("wall_s", lambda it: it.wall_ms / 1000, 3),
    Measure("work_s", lambda it: it.work_ms / 1000, 3),
    Measure("waiting_s", lambda it: it.waiting_ms / 1000, 3),
    Measure("holds", lambda it: it.holds),
    Measure("suspensions", lambda it: it.suspensions),
)


def walked(
    asked: ForecastAsked, technique: str, scene: Scene, walks: Sequence[Outcome]
) -> JsonObject:
    """Return what is told of *walks* through *scene*."""
    wanted = asked.steps * asked.concurrency
    complete = [walk.steps == wanted for walk in walks]
    told: JsonObject = {
        **_head(asked, technique),
        "walks": len(walks),
        **{name: _figures(walks, share, scene) for name, share in SHARES.items()},
        "usd_unknown": _unpriced(scene.unpriced),
        "completes": sum(complete) / len(walks),
        "chance": _chance(asked, walks, complete),
        "context_wall_at_step": at_step([walk.wall_step for walk in walks]),
        "budget_ends_at_step": at_step([walk.broke_step for walk in walks]),
        "binding": _binding(scene, walks),
        "ground": {"answers": scene.ground, "samples": scene.samples},
        "notes": list(scene.notes),
    }
    return {**told, "text": _text(told)}


def _head(asked: ForecastAsked, technique: str) -> JsonObject:
    return {
        "object": "forecast",
        "method": asked.method,
        "model": asked.model,
        "technique": technique,
        "steps": asked.steps,
        "concurrency": asked.concurrency,
        "deadline_ms": asked.deadline_ms,
    }


def _figures(walks: Sequence[Outcome], share: float, scene: Scene) -> JsonObject:
    figures: JsonObject = {}
    for measure in MEASURES:
        value = quantile([measure.of(walk) for walk in walks], share)
        figures[measure.name] = (
            int(value) if measure.places is None else round(value, measure.places)
        )
    figures["usd"] = None
    if scene.unpriced is None:
        costs = [walk.cost(scene.world.lanes) for walk in walks]
        figures["usd"] = dollars(int(quantile(costs, share)))
    return figures


def _unpriced(model: str | None) -> str | None:
    return None if model is None else f"The price of {model} is not known."


def _chance(
    asked: ForecastAsked, walks: Sequence[Outcome], complete: Sequence[bool]
) -> float | None:
    if asked.deadline_ms is None:
        return None
    met = (
        done and walk.wall_ms <= asked.deadline_ms
        for walk, done in zip(walks, complete, strict=True)
    )
    return sum(met) / len(walks)


def at_step(steps: Sequence[int | None]) -> int | None:
    """Return the step at which half of the walks have ended, by the step at which each did.

    None: it did not end so; and where fewer than half end so.
    """
    ended = sorted(step for step in steps if step is not None)
    half = ceil(_LIKELY * len(steps))
    return ended[half - 1] if len(ended) >= half else None


def _binding(scene: Scene, walks: Sequence[Outcome]) -> JsonObject | None:
    """Return the window that was waited for longest, and its part of all waiting."""
    waited: defaultdict[str, float] = defaultdict(float)
    for walk in walks:
        for place, ms in walk.bound.items():
            waited[scene.world.names[place] if place >= 0 else "queue"] += ms
    if not waited:
        return None
    name, most = max(waited.items(), key=lambda row: row[1])
    return {"window": name, "share": round(most / sum(waited.values()), 3)}


def _text(told: JsonObject) -> str:
    """Return the forecast in one line."""
    half, most = told["p50"], told["p90"]
    parts = [
        f"{_steps(told)}: {half['tokens']:,} tokens (p90 {most['tokens']:,})",
        "an unknown price"
        if half["usd"] is None
        else f"{_money(half['usd'])} dollars (p90 {_money(most['usd'])})",
        f"{half['wall_s']:.1f} s (p90 {most['wall_s']:.1f} s)",
        f"{half['waiting_s']:.1f} s of it waiting",
    ]
    if told["binding"]:
        parts.append(f"mostly for {told['binding']['window']}")
    if told["chance"] is not None:
        parts.append(f"done in time with a chance of {told['chance']:.0%}")
    if told["context_wall_at_step"]:
        parts.append(f"step {told['context_wall_at_step']} is too large")
    if told["budget_ends_at_step"]:
        parts.append(f"the budget ends at step {told['budget_ends_at_step']}")
    return ", ".join(parts)


def _steps(told: JsonObject) -> str:
    agents = told["concurrency"]
    steps = f"{_counted(told['steps'], 'step')} of {told['model']}"
    return steps if agents == 1 else f"{agents} times {steps}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _money(amount: str) -> str:
    return f"{Decimal(amount):.4f}".rstrip("0").rstrip(".")


def pointed(asked: ForecastAsked, technique: str, point: Point, usd: Json) -> JsonObject:
    """Return what is told of *point*; *usd* is its dollars as a text, or None."""
    told: JsonObject = {
        **_head(asked, technique),
        "steps_done": point.steps,
        "tokens": round(point.tokens),
        "usd": usd,
        "wall_s": round(point.wall_s, 3),
        "work_s": round(point.work_s, 3),
        "waiting_s": round(point.waiting_s, 3),
        "waits": point.waits,
        "suspensions": point.suspensions,
        "context_wall": point.context_wall,
        "chance": None if point.fits is None else float(point.fits),
        "fits_deadline": point.fits,
    }
    parts = [
        f"{_steps(told)}: {told['tokens']:,} tokens",
        "an unknown price" if usd is None else f"{_money(usd)} dollars",
        f"{point.wall_s:.1f} s, {point.waiting_s:.1f} s of it waiting",
        f"{_counted(point.waits, 'wait')} and {_counted(point.suspensions, 'suspension')}",
    ]
    if point.fits is not None:
        parts.append("done in time" if point.fits else "not done in time")
    if point.context_wall:
        parts.append(f"step {point.steps + 1} is too large")
    return {**told, "text": ", ".join(parts)}
