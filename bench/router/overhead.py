"""What leaving a request to the router adds to it: plain and ``auto`` in turns, at one gateway.

python -m bench.router.overhead
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from bench.rig import Server, build, first_200_s, start_upstream
from bench.scenarios import Figures, Scenario, chat, measure
from bench.targets import start_gateway

_BAR_MS: Final = 2.0
_ENCODERS: Final = ("static", "hashed")
# a new vector for each request, and what is seen is kept
_ROUTER: Final = (
    "router:\n"
    "  type: semknn\n"
    "  embedding: {{kind: {kind}, remembered: 0}}\n"
    "  learning: {{enabled: true}}\n"
    "database: {{url: 'sqlite:///{folder}/all.db'}}\n"
)


@dataclass(frozen=True, slots=True)
class Added:
    """What ``auto`` adds, in milliseconds: the middle of what it did in each turn."""

    encoder: str
    load: str
    plain_ms: float
    auto_ms: float
    p50_ms: float
    p99_ms: float
    cpu_us: float


def added(server: Server, encoder: str, load: tuple[str, int, int], rounds: int) -> Added:
    """Measure plain, auto, plain, auto ... and return what auto adds. The first turn warms up."""
    name, connections, requests = load
    calls = {"plain": chat("bench"), "auto": chat("auto/bench")}
    told: dict[str, list[Figures]] = {"plain": [], "auto": []}
    for turn in range(rounds + 1):
        for kind, call in calls.items():
            figures = measure(Scenario(name, call, connections, requests), server)
            if turn:
                told[kind].append(figures)
    pairs = list(zip(told["plain"], told["auto"], strict=True))
    return Added(
        encoder,
        name,
        median(one.latency_p50 for one in told["plain"]) / 1000,
        median(one.latency_p50 for one in told["auto"]) / 1000,
        median(auto.latency_p50 - plain.latency_p50 for plain, auto in pairs) / 1000,
        median(auto.latency_p99 - plain.latency_p99 for plain, auto in pairs) / 1000,
        median((auto.cpu_us or 0.0) - (plain.cpu_us or 0.0) for plain, auto in pairs),
    )


def table(rows: Sequence[Added]) -> str:
    """Return *rows* as Markdown."""
    lines = [
        "| encoder | load | plain p50, ms | auto p50, ms | added, p50 | added, p99 | CPU, us |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {one.encoder} | {one.load} | {one.plain_ms:.2f} | {one.auto_ms:.2f} |"
        f" {one.p50_ms:.2f} | {one.p99_ms:.2f} | {one.cpu_us:.0f} |"
        for one in rows
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 where ``auto`` adds more than it may to one request at a time."""
    parser = argparse.ArgumentParser(prog="python -m bench.router.overhead")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--encoder", choices=_ENCODERS, action="append")
    given = parser.parse_args(arguments)
    build()
    rows: list[Added] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        upstream = start_upstream(folder)
        stack.callback(upstream.stop)
        for kind in given.encoder or _ENCODERS:
            own = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            more = _ROUTER.format(kind=kind, folder=own)
            server = start_gateway(None, upstream, own, more)
            first_200_s(server, chat(), 60)
            for load in (("1 at a time", 1, 500), ("8 at a time", 8, 1500)):
                rows.append(added(server, kind, load, given.rounds))
            server.stop()
    sys.stdout.write(table(rows) + "\n")
    alone = [one.p50_ms for one in rows if one.load == "1 at a time"]
    return 0 if max(alone) <= _BAR_MS else 1


if __name__ == "__main__":
    sys.exit(main())
