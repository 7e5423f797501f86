"""From figures to the bars of the benchmark, and to tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from bench.leaks import Leaks
from bench.rig import CannotMeasure
from bench.scenarios import Figures

Rounds = Mapping[tuple[str, str], Sequence[Figures]]
"""Figures of each round, by scenario and server."""

_GAP_US: Final = 20_000
_OURS: Final = frozenset({"gateway", "full", "full redis"})


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure and what it has to be: at most ``limit``, or at least where ``at_least``."""

    name: str
    value: float | None
    limit: float
    unit: str = ""
    at_least: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the figure is as it has to be; None when it was not measured."""
        if self.value is None:
            return None
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def _stream_bars(rounds: Rounds) -> list[Bar]:
    delta = _ratio(rounds, "s64", _field("cpu_delta_us"))
    delay = _middle(rounds, "s64", "delta_delay_p99")
    cross, responses = _cross(rounds, "cross", "s64"), _cross(rounds, "rs cross", "rs64")
    relayed = _ratio(rounds, "rs64", _field("cpu_delta_us"))
    return [
        Bar("64 streams: added time to first chunk, times the floor", _added(rounds), 1.5),
        Bar("64 streams: CPU per delta, times the floor", delta, 1.5),
        Bar("64 streams: delay of a delta p99, within their gap", delay, _GAP_US, "us"),
        Bar("Anthropic client, OpenAI upstream: CPU per delta, times own dialect", cross, 4.0),
        Bar("64 streams of responses: CPU per delta, times the floor", relayed, 1.6),
        Bar("Responses client, chat upstream: CPU per delta, times own dialect", responses, 4.0),
    ]


def speed_bars(rounds: Rounds) -> list[Bar]:
    """Return the bars on cost and latency. Each ratio is the median of the rounds' ratios."""
    cpu = _field("cpu_us")
    slow = _ratio(rounds, "d60c256", _field("latency_p99"))
    cost = _middle(rounds, "c32", "cpu_us")
    rps = 1e6 / cost if cost else None
    return [
        Bar("32 connections: CPU per request, times the floor", _ratio(rounds, "c32", cpu), 2.0),
        Bar("32 connections: requests/s that the CPU of one core allows", rps, 1500, at_least=True),
        Bar("32 KB bodies: CPU per request, times the floor", _ratio(rounds, "32k", cpu), 1.6),
        Bar("16 embeddings: CPU per request, times the floor", _ratio(rounds, "embed16", cpu), 2.0),
        Bar("256 connections, 60 ms upstream: p99, times the floor", slow, 1.5),
        Bar("256 connections, 60 ms upstream: errors", _most(rounds, "d60c256"), 0),
        *_stream_bars(rounds),
        *_full_bars(rounds),
        *technique_bars(rounds),
        Bar("errors in all other scenarios", _all_errors(rounds), 0),
    ]


def _full_bars(rounds: Rounds) -> list[Bar]:
    """Return the bars on a gateway with everything on: key, budget, windows, queue and ledger."""
    cpu = _field("cpu_us")
    whole, direct = (
        _middle(rounds, "r500", "latency_p99", name) for name in ("full redis", "upstream")
    )
    added = None if whole is None or direct is None else (whole - direct) / 1000
    return [
        Bar(
            "everything on, windows in memory: CPU per request, times the floor",
            _ratio(rounds, "c32", cpu, "full"),
            2.4,
        ),
        Bar(
            "everything on, windows in Redis: CPU per request, times the floor",
            _ratio(rounds, "c32", cpu, "full redis"),
            3.0,
        ),
        Bar("everything on, windows in Redis: added p99 at 500 requests/s", added, 5, "ms"),
    ]


def technique_bars(rounds: Rounds) -> list[Bar]:
    """Return the bars on what a technique costs beside its sub-calls.

    Of two runs with unlike numbers of calls, the difference is what further calls cost, and the
    rest what the run does. A sub-call alone is a request of ``c32``.
    """
    few, many, alone = (_middle(rounds, name, "cpu_us") for name in ("vote3", "vote9", "c32"))
    run = call = None
    if few is not None and many is not None and alone is not None:
        each = (many - few) / 6
        run, call = (few - 3 * each) / 1000, (each - alone) / 1000
    slowest = _middle(rounds, "d60c1", "latency_p50")
    vote = _middle(rounds, "d60 vote3", "latency_p50")
    times = vote / slowest if vote and slowest else None
    return [
        Bar("a technique's CPU per run", run, 2.0, "ms"),
        Bar("a technique's CPU per sub-call, beyond the sub-call's own", call, 0.5, "ms"),
        Bar("draws in parallel, 60 ms upstream: time, times one call's", times, 1.15),
    ]


def footprint_bars(starts: Sequence[float], leaks: Leaks | None) -> list[Bar]:
    """Return the bars on start-up, memory and what traffic leaves behind."""
    bars = [Bar("start to the first 200", median(starts) if starts else None, 2.0, "s")]
    if leaks is None:
        return bars
    sent = f"after {leaks.requests} requests, {leaks.streams} streams"
    return [
        *bars,
        Bar("memory idle", leaks.idle_mib, 120, "MiB"),
        Bar(f"memory growth {sent}", leaks.heap_mib[2] - leaks.heap_mib[0], 5, "MiB"),
        Bar(f"upstream sockets in mid-answer {sent}", leaks.busy_left, 0),
        Bar("upstream sockets open once the pool let go", leaks.open_left, 0),
        Bar("tasks left", leaks.tasks_left, 0),
        Bar("cut streams not closed at the provider", leaks.cut - leaks.closed_early, 0),
        Bar("errors on the way", leaks.errors, 0),
    ]


def bars_table(bars: Sequence[Bar]) -> str:
    """Return the bars as a Markdown table."""
    lines = ["| bar | value | has to be | |", "|---|---|---|---|"]
    for bar in bars:
        verdict = {True: "met", False: "**not met**", None: "not measured"}[bar.met]
        sign = "≥" if bar.at_least else "≤"
        unit = f" {bar.unit}" if bar.unit else ""
        value = "-" if bar.value is None else f"{_short(bar.value)}{unit}"
        lines.append(f"| {bar.name} | {value} | {sign} {_short(bar.limit)}{unit} | {verdict} |")
    return "\n".join(lines)


def figures_table(rounds: Rounds) -> str:
    """Return the medians of every scenario and server as a Markdown table."""
    columns = {
        "CPU us/request": "cpu_us",
        "CPU us/delta": "cpu_delta_us",
        "requests/s": "rps",
        "p50 us": "latency_p50",
        "p95 us": "latency_p95",
        "p99 us": "latency_p99",
        "first chunk p50 us": "first_chunk_p50",
        "delta delay p50 us": "delta_delay_p50",
        "delta delay p99 us": "delta_delay_p99",
        "deltas/s": "deltas_per_s",
        "waited": "waited",
        "errors": "errors",
    }
    lines = [f"| scenario | server | {' | '.join(columns)} |", "|---" * (len(columns) + 2) + "|"]
    for scenario, server in rounds:
        cells = [_middle(rounds, scenario, name, server) for name in columns.values()]
        text = " | ".join("-" if cell is None else _short(cell) for cell in cells)
        lines.append(f"| {scenario} | {server} | {text} |")
    return "\n".join(lines)


def disturbance(rounds: Rounds) -> float:
    """Return for how long servers waited for their core at most, as a share of their CPU."""
    return max(
        (
            median(f.waited for f in figures)
            for (_, server), figures in rounds.items()
            if server != "upstream"
        ),
        default=0.0,
    )


def write_between_markers(page: Path, text: str, what: str = "bench") -> None:
    """Put *text* between the markers of *page* that are called *what*.

    Raises:
        CannotMeasure: The page has no such markers.
    """
    first, last = f"<!-- {what}:begin -->", f"<!-- {what}:end -->"
    before, begin, rest = page.read_text().partition(first)
    _, end, after = rest.partition(last)
    if not (begin and end):
        raise CannotMeasure(f"{page} has no {first} … {last} to write between.")
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def _field(name: str) -> Callable[[Figures], float | None]:
    def read(figures: Figures) -> float | None:
        value: float | None = getattr(figures, name)
        return value

    return read


def _ratio(
    rounds: Rounds,
    scenario: str,
    read: Callable[[Figures], float | None],
    server: str = "gateway",
) -> float | None:
    pairs = zip(
        map(read, rounds.get((scenario, server), ())),
        map(read, rounds.get((scenario, "floor"), ())),
        strict=False,
    )
    ratios = [ours / floor for ours, floor in pairs if ours is not None and floor]
    return median(ratios) if ratios else None


def _added(rounds: Rounds) -> float | None:
    """Return the added time to the first chunk, by that of the floor."""
    three = zip(
        *(rounds.get(("s64", server), ()) for server in ("gateway", "floor", "upstream")),
        strict=False,
    )
    ratios = [
        (ours.first_chunk_p50 - direct.first_chunk_p50)
        / max(floor.first_chunk_p50 - direct.first_chunk_p50, 1)
        for ours, floor, direct in three
    ]
    return median(ratios) if ratios else None


def _cross(rounds: Rounds, name: str, own_name: str) -> float | None:
    """Return what a delta of *name* costs, times one of *own_name*, which is only passed on."""
    pairs = zip(
        rounds.get((name, "gateway"), ()), rounds.get((own_name, "gateway"), ()), strict=False
    )
    ratios = [
        cross.cpu_delta_us / own.cpu_delta_us
        for cross, own in pairs
        if cross.cpu_delta_us and own.cpu_delta_us
    ]
    return median(ratios) if ratios else None


def _middle(rounds: Rounds, scenario: str, name: str, server: str = "gateway") -> float | None:
    values = [v for f in rounds.get((scenario, server), ()) if (v := _field(name)(f)) is not None]
    return median(values) if values else None


def _most(rounds: Rounds, scenario: str) -> float | None:
    figures = rounds.get((scenario, "gateway"), ())
    return max((f.errors for f in figures), default=None)


def _all_errors(rounds: Rounds) -> float | None:
    ours = [key for key in rounds if key[1] in _OURS and key[0] != "d60c256"]
    return sum(figures.errors for key in ours for figures in rounds[key]) if ours else None


def _short(value: float) -> str:
    if value == int(value) or abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
