"""What was measured as a table, and the bars that pacing has to reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from bench.pacing.running import Arm, Ran
from bench.pacing.statistics import Figures, middle

_NAMES: Final[dict[Arm, str]] = {
    "paced": "Lockgate, pacing",
    "unpaced": "Lockgate, no pacing",
    "wary": "no gateway, each paces itself",
    "reactive": "no gateway",
}
_SHOWN_BROKEN: Final = 8
_LATE_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Bar:
    """A thing that every vendor's account has to reach, told by the one that is worst."""

    name: str
    read: Callable[[Figures], float]
    limit: float
    drains: tuple[bool, ...] = (False, True)
    at_least: bool = False


BARS: Final = (
    Bar("429 per run, nobody else on the account", lambda f: f.refused, 0.5, (False,)),
    Bar("429 per run, a quarter of the tokens taken unseen", lambda f: f.refused, 2.0, (True,)),
    Bar("goodput, % of what the account allows", lambda f: f.goodput, 95.0, at_least=True),
    Bar("Jain's index of the agents' times", lambda f: f.jain, 0.9, at_least=True),
    Bar("calls that no agent made", lambda f: f.unasked, 0.0),
    Bar("steps that failed", lambda f: f.broken, 0.0),
)


def bars_table(ran: Ran) -> str:
    """Return the bars as a Markdown table."""
    lines = ["| bar | worst vendor | found | has to be | |", "|---|---|---|---|---|"]
    for bar in BARS:
        found = [
            (bar.read(middle(runs)), vendor)
            for (arm, vendor, drain), runs in ran.runs.items()
            if arm == "paced" and bool(drain) in bar.drains
        ]
        sign = "≥" if bar.at_least else "≤"
        wanted = f"{sign} {_short(bar.limit)}"
        if not found:
            lines.append(f"| {bar.name} |  | - | {wanted} | not measured |")
            continue
        value, vendor = (min if bar.at_least else max)(found)
        met = value >= bar.limit if bar.at_least else value <= bar.limit
        verdict = "met" if met else "**not met**"
        lines.append(f"| {bar.name} | {vendor} | {_short(value)} | {wanted} | {verdict} |")
    late_s = ran.late_s.get("paced")
    found_late = "-" if late_s is None else _short(1000 * late_s)
    verdict = _verdict(late_s, _LATE_S)
    wanted = f"≤ {_short(1000 * _LATE_S)}"
    lines.append(f"| for all that: timers late, p95, ms |  | {found_late} | {wanted} | {verdict} |")
    return "\n".join(lines)


def _verdict(late_s: float | None, limit: float) -> str:
    if late_s is None:
        return "not measured"
    return "met" if late_s <= limit else "**the machine was too busy to tell**"


def figures_table(ran: Ran) -> str:
    """Return all arms as a Markdown table."""
    head = (
        "| vendor | taken unseen | arm | 429 per run (most) | calls no agent made | tokens re-sent "
        "| makespan s | goodput % | wait p95 s | Jain | 429s to agents | failed |"
    )
    return "\n".join((head, "|---" * 12 + "|", *_rows(ran)))


def _rows(ran: Ran) -> Iterator[str]:
    order = sorted(ran.runs, key=lambda cell: (cell[2], cell[1]))
    for cell in order:
        arm, vendor, drain = cell
        runs = ran.runs[cell]
        found = middle(runs)
        most = max(run.refused for run in runs)
        cells = (
            *(vendor, f"{100 * drain:.0f} %", _NAMES[arm]),
            f"{_short(found.refused)} ({_short(most)})",
            *(_short(found.unasked), _short(found.resent), f"{found.makespan_s:.0f}"),
            *(f"{found.goodput:.1f}", f"{found.wait_s:.1f}", f"{found.jain:.3f}"),
            *(_short(found.told), _short(found.broken)),
        )
        yield f"| {' | '.join(cells)} |"


def late(ran: Ran) -> str:
    """Return how busy the machine was: agents that wake late say little of pacing."""
    arms = ", ".join(f"{_NAMES[arm]}: {1000 * s:.0f} ms" for arm, s in ran.late_s.items())
    return f" Timers were late by (p95) {arms}." if arms else ""


def broken(ran: Ran) -> str:
    """Return what went wrong and how often, the most frequent first."""
    return "\n".join(f"{count} x {what}" for what, count in ran.broken.most_common(_SHOWN_BROKEN))


def _short(value: float) -> str:
    return f"{value:.0f}" if value == int(value) or value >= 100 else f"{value:.1f}"
