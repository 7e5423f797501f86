"""What each client costs under the floor: ``python -m bench.clients.cost``, interleaved."""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from bench.ports import free_port
from bench.rig import HERE, Server, build, first_200_s, start, start_upstream
from bench.scenarios import Figures, Scenario, chat, measure

_SCENARIOS = (
    Scenario("c1", chat(), 1, 1000),
    Scenario("c32", chat(), 32, 5000),
    Scenario("s64", chat("bench-n50-g20", streamed=True), 64, 128, deltas=50),
    Scenario("32k", chat(size=32_000), 32, 2000),
    Scenario("d60c256", chat("bench-d60"), 256, 4000),
    Scenario("c1000", chat("bench-d60"), 1000, 4000),
)
_COLUMNS = (
    ("c1", "latency_p50"),
    ("c32", "cpu_us"),
    ("c32", "rps"),
    ("32k", "cpu_us"),
    ("s64", "cpu_delta_us"),
    ("s64", "first_chunk_p50"),
    ("s64", "delta_delay_p50"),
    ("s64", "delta_delay_p99"),
    ("d60c256", "latency_p99"),
    ("d60c256", "cpu_us"),
    ("c1000", "latency_p99"),
    ("c1000", "cpu_us"),
)


def start_relay(kind: str, upstream: Server, where: Path) -> Server:
    """Start the floor over one kind of client; "floor" is the floor itself."""
    port = free_port()
    module = ["bench.floor"] if kind == "floor" else ["bench.clients.kinds", "--client", kind]
    address = f"http://127.0.0.1:{upstream.port}"
    command = ["env", f"PYTHONPATH={HERE.parent}", sys.executable, "-m", *module]
    return start(kind, [*command, "--port", str(port), "--upstream", address], port, where)


def main() -> None:
    """Measure the clients named on the command line."""
    parser = argparse.ArgumentParser(description="What each HTTP client costs.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("kinds", nargs="*")
    arguments = parser.parse_args()
    kinds = arguments.kinds or ["floor", "aiohttp", "pyreqwest", "httpx2", "httpx-aiohttp", "own"]
    build()
    figures: dict[tuple[str, str], list[Figures]] = {}
    memory: dict[str, str] = {}
    with ExitStack() as stack:
        where = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        upstream = start_upstream(where)
        stack.callback(upstream.stop)
        servers = {}
        for kind in kinds:
            servers[kind] = start_relay(kind, upstream, where)
            stack.callback(servers[kind].stop)
            first_200_s(servers[kind], chat(), 30)
            memory[kind] = f"{servers[kind].pss_mib():.0f}"
        for _ in range(arguments.rounds):
            for scenario in _SCENARIOS:
                for kind, server in servers.items():
                    run = measure(scenario, server)
                    figures.setdefault((scenario.name, kind), []).append(run)
        for kind, server in servers.items():
            memory[kind] += f" / {server.pss_mib():.0f}"
    sys.stdout.write(_table(kinds, figures, memory))


def _table(
    kinds: list[str], figures: dict[tuple[str, str], list[Figures]], memory: dict[str, str]
) -> str:
    heads = " | ".join(f"{scenario} {name}" for scenario, name in _COLUMNS)
    lines = [f"| client | {heads} | errors | MiB |", "|---" * (len(_COLUMNS) + 3) + "|"]
    for kind in kinds:
        cells = [
            f"{median(getattr(run, name) for run in figures[scenario, kind]):.4g}"
            for scenario, name in _COLUMNS
        ]
        errors = sum(run.errors for (_, k), runs in figures.items() if k == kind for run in runs)
        lines.append(f"| {kind} | {' | '.join(cells)} | {errors} | {memory[kind]} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
