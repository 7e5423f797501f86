"""From what was measured to bars, tables, and a list of what went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from bench.router.measuring import Interval, Measured, interval, is_pair
from bench.router.sets import Numbers

OURS: Final = ("semknn", "acm_linear")
LENGTH: Final = "length only"
_SIMPLE: Final = (LENGTH, "category prior", "counted", "best fixed arm")
_SHOWN: Final = (0.0, 0.01, 0.1, 0.3162, 1.0, 3.1623, 10.0, 31.6228, 100.0)
TOOL_COST: Final = 0.12
ASKED_TOOL: Final = "gpt-4o-2024-08-06-FC"
_APGR: Final = {"mmlu": 0.67, "gsm8k": 0.625}
_TOOLS_RIGHT: Final = 0.88
_HALF: Final = 0.5
_ROUGHLY: Final = 0.005  # what a sweep may rise by: costs of single calls, not of the choice


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure that was to be reached; ``near``: its interval reaches it."""

    name: str
    found: str
    wanted: str
    met: bool
    near: bool = False


def bars(done: Mapping[str, Measured]) -> list[Bar]:
    """Return the bars on what was measured."""
    return [*_gaps(done), *_tools(done), *_sweeps(done), *_strongest(done)]


def _gaps(done: Mapping[str, Measured]) -> Iterator[Bar]:
    for name, wanted in _APGR.items():
        if name in done:
            found = interval(done[name].recovered("semknn").apgr)
            met = found.value >= wanted
            bar = f"{name}: APGR of semknn"
            yield Bar(bar, _told(found), f"≥ {wanted}", met, found.high >= wanted)
    for name in ("mmlu", "mmlu_unlabelled"):
        if name in done:
            found = above(done[name], "semknn", LENGTH)
            bar = f"{name}: APGR of semknn above that of the prompt's length alone"
            yield Bar(bar, _told(found, sign="+"), "interval above 0", found.low > 0)


def _tools(done: Mapping[str, Measured]) -> Iterator[Bar]:
    if "bfcl" not in done:
        return
    measured = done["bfcl"]
    curve = measured.curve("semknn")
    right = curve.quality_at(TOOL_COST)
    bar = f"bfcl: share right for ${TOOL_COST} a thousand calls"
    yield Bar(bar, f"{right:.3f}", f"≥ {_TOOLS_RIGHT}", right >= _TOOLS_RIGHT)
    quality, cost = alone(measured, ASKED_TOOL)
    share = curve.cost_at(quality) / cost
    bar = "bfcl: cost at gpt-4o's share right, times gpt-4o's"
    yield Bar(bar, f"{share:.2f}", f"≤ {_HALF}", share <= _HALF)


def _sweeps(done: Mapping[str, Measured]) -> Iterator[Bar]:
    for name, measured in done.items():
        rises = measured.curve("semknn").rises()
        bar = f"{name}: the cost falls as lambda rises; most that it ever rises, of the dearest"
        yield Bar(bar, f"{100 * rises:.2f} %", f"≤ {100 * _ROUGHLY} %", rises <= _ROUGHLY)


def _strongest(done: Mapping[str, Measured]) -> Iterator[Bar]:
    for name, measured in done.items():
        if not name.endswith(STRONG):
            continue
        kept = measured.chosen_quality("semknn", 0.0)
        found = measured.mean(100 * (kept - measured.task.routed.quality[:, measured.task.plain]))
        bar = f"{name.removesuffix(STRONG)}: the strongest asked for, lambda 0: points above it"
        yield Bar(bar, _told(found, 1, "+"), "≥ 0", found.value >= 0, found.high >= 0)


STRONG: Final = ", strongest asked for"


def above(measured: Measured, ours: str, theirs: str) -> Interval:
    """Return by how much the APGR of *ours* is above that of *theirs*, prompt by prompt."""
    return interval(measured.recovered(ours).apgr - measured.recovered(theirs).apgr)


def alone(measured: Measured, model: str) -> tuple[float, float]:
    """Return mean quality and cost of *model* for every prompt."""
    place = measured.task.routed.models.index(model)
    routed = measured.task.routed
    return float(routed.quality[:, place].mean()), float(routed.cost[:, place].mean())


def _told(found: Interval, digits: int = 3, sign: str = "") -> str:
    value, low, high = (f"{each:{sign}.{digits}f}" for each in found)
    return f"{value} ({low} to {high})"


def bars_table(found: Sequence[Bar]) -> str:
    """Return *found* as a table."""
    rows = (f"| {bar.name} | {bar.found} | {bar.wanted} | {_verdict(bar)} |" for bar in found)
    return "\n".join(("| bar | found | wanted | |", "|---|---|---|---|", *rows))


def _verdict(bar: Bar) -> str:
    if bar.met:
        return "met"
    return "not met, within the noise" if bar.near else "**not met**"


def table(name: str, measured: Measured) -> str:
    """Return all that was measured on one set."""
    routed = measured.task.routed
    head = f"### {name}\n\n{routed.about}: {len(routed)} prompts."
    parts = [head, _models(measured), _rivals(measured), _sweep(measured)]
    return "\n\n".join(parts)


def _models(measured: Measured) -> str:
    routed = measured.task.routed
    rows = [
        f"| {model}{', asked for' if place == measured.task.plain else ''} "
        f"| {routed.quality[:, place].mean():.3f} | {routed.cost[:, place].mean():.3f} |"
        for place, model in enumerate(routed.models)
    ]
    return "\n".join(("| model | quality | $ a 1,000 calls |", "|---|---|---|", *rows))


def _rivals(measured: Measured) -> str:
    if is_pair(measured.task.routed):
        return _pairwise(measured)
    return _among_many(measured)


def _pairwise(measured: Measured) -> str:
    head = f"| router | APGR | CPT50 | APGR above {LENGTH} |"
    rows = []
    for rival in measured.found:
        found = measured.recovered(rival)
        more = _told(above(measured, rival, LENGTH), sign="+") if rival != LENGTH else ""
        rows.append(
            f"| {rival} | {_told(interval(found.apgr))} | {_told(interval(found.cpt50))} | {more} |"
        )
    return "\n".join((head, "|---|---|---|---|", *rows))


def _among_many(measured: Measured) -> str:
    quality, cost = alone(measured, ASKED_TOOL)
    head = (
        f"| router | right for ${TOOL_COST} | cost at {ASKED_TOOL}'s {quality:.3f}, of its "
        "| best of all lambdas | right at lambda 1 | above the best fixed arm at lambda 1 |"
    )
    fixed = measured.chosen_quality("best fixed arm", 1.0)
    rows = []
    for rival in measured.found:
        curve = measured.curve(rival)
        chosen = measured.chosen_quality(rival, 1.0)
        rows.append(
            f"| {rival} | {curve.quality_at(TOOL_COST):.3f} | {curve.cost_at(quality) / cost:.2f} "
            f"| {curve.quality.max():.3f} | {_told(measured.mean(chosen))} "
            f"| {_told(measured.mean(chosen - fixed), sign='+')} |"
        )
    return "\n".join((head, "|---|---|---|---|---|---|", *rows))


def _sweep(measured: Measured) -> str:
    found = {rival: measured.curve(rival) for rival in OURS if rival in measured.found}
    names = " | ".join(f"{rival}: quality | $ a 1,000" for rival in found)
    lines = [f"| lambda | {names} |", f"|---{'|---|---' * len(found)}|"]
    first = next(iter(found.values()))
    for place, lambda_ in enumerate(first.lambdas):
        if lambda_ in _SHOWN:
            cells = (f"{c.quality[place]:.3f} | {c.cost[place]:.3f}" for c in found.values())
            lines.append(f"| {lambda_:g} | {' | '.join(cells)} |")
    return "\n".join(lines)


def failures(done: Mapping[str, Measured], found: Sequence[Bar]) -> str:
    """Return what was not reached, and where something simpler did better."""
    lines = [f"* {bar.name}: {bar.found}, wanted {bar.wanted}." for bar in found if not bar.met]
    for name, measured in done.items():
        lines += _beaten(name, measured)
    return "\n".join(lines or ["* None."])


def _beaten(name: str, measured: Measured) -> Iterator[str]:
    for ours in OURS:
        for simple in _SIMPLE:
            if ours not in measured.found or simple not in measured.found:
                continue
            less = _less(measured, ours, simple)
            if less.value < 0:
                sure = "" if less.high < 0 else ", which may be chance"
                yield f"* {name}: {ours} is behind {simple} by {_told(less, sign='+')}{sure}."


def _less(measured: Measured, ours: str, simple: str) -> Interval:
    """Return how far *ours* is above *simple*: by APGR, among many models by utility."""
    if is_pair(measured.task.routed):
        return above(measured, ours, simple)
    return measured.mean(_utility(measured, ours) - _utility(measured, simple))


def _utility(measured: Measured, rival: str, lambda_: float = 1.0) -> Numbers:
    """Return what each prompt's choice is worth at *lambda_*, in quality."""
    task = measured.task
    every = np.arange(len(task.routed))
    each = []
    for one in measured.found[rival]:
        chosen = one.said.chosen(lambda_)
        spent = task.relative[every, chosen] - 1.0
        each.append(task.routed.quality[every, chosen] - lambda_ / 100 * spent)
    worth: Numbers = np.mean(each, axis=0)
    return worth
