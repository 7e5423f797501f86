"""What is left after traffic: memory, tasks, and sockets to the provider."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bench.rig import Server, upstream_stats
from bench.scenarios import Scenario, chat, measure

_SETTLE_S: Final = 2.0
_POOL_S: Final = 75.0
_DELTAS: Final = 50


@dataclass(frozen=True, slots=True)
class Leaks:
    """What was there before and after; ``tasks_left`` is None where they cannot be counted.

    ``idle_mib`` is all memory after the first answer; ``heap_mib`` what no file backs of it, then,
    after a fortieth of the traffic, and after all of it. ``busy_left`` are sockets still in
    mid-answer two seconds after the last client left, ``open_left`` those still open when the pool
    had time to let idle ones go (None: not waited for). ``closed_early`` of the ``cut`` streams
    were closed at the provider before their end.
    """

    requests: int
    streams: int
    idle_mib: float
    heap_mib: tuple[float, float, float]
    tasks_left: int | None
    busy_left: int
    open_left: int | None
    cut: int
    closed_early: int
    errors: int


def measure_leaks(gateway: Server, upstream: Server, requests: int) -> Leaks:
    """Send *requests* and a tenth as many streams, of which every tenth is cut in the middle."""
    idle, tasks = gateway.pss_mib(), _tasks(gateway)
    heap = gateway.heap_mib()
    _traffic(gateway, requests // 40)
    warm = gateway.heap_mib()
    aborted = upstream_stats(upstream)["aborted"]
    cut, errors = _traffic(gateway, requests)
    _until(lambda: upstream_stats(upstream)["busy"] == 0, _SETTLE_S)
    stats = upstream_stats(upstream)
    after = _tasks(gateway)
    return Leaks(
        requests=requests,
        streams=requests // 10,
        idle_mib=idle,
        heap_mib=(heap, warm, gateway.heap_mib()),
        tasks_left=None if tasks is None or after is None else after - tasks,
        busy_left=stats["busy"],
        open_left=None,
        cut=cut,
        closed_early=stats["aborted"] - aborted,
        errors=errors,
    )


def with_sockets(leaks: Leaks, upstream: Server) -> Leaks:
    """Return *leaks* with the sockets that stay open, however long one waits."""
    _until(lambda: upstream_stats(upstream)["open"] == 0, _POOL_S)
    return replace(leaks, open_left=upstream_stats(upstream)["open"])


def _traffic(gateway: Server, requests: int) -> tuple[int, int]:
    plain = measure(Scenario("requests", chat(), 32, requests), gateway)
    streams = Scenario(
        "streams",
        chat("bench-n50-g20", streamed=True),
        connections=64,
        requests=max(requests // 10, 64),
        deltas=_DELTAS,
        abort_every=10,
        abort_after=3,
    )
    streamed = measure(streams, gateway)
    return streamed.cut, plain.errors + streamed.errors


def _tasks(server: Server) -> int | None:
    """Ask the process for its number of tasks; None when it does not answer."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    caught = re.search(r"^SigCgt:\s*([0-9a-f]+)$", status, re.MULTILINE)
    if not caught or not int(caught[1], 16) >> (signal.SIGUSR2 - 1) & 1:
        return None  # the signal would end it
    before = len(_told(server))
    os.kill(server.process.pid, signal.SIGUSR2)
    if not _until(lambda: len(_told(server)) > before, 1.0):
        return None
    return int(_told(server)[-1])


def _told(server: Server) -> list[str]:
    return re.findall(r"^bench-tasks (\d+)$", server.log.read_text(errors="replace"), re.MULTILINE)


def _until(true: Callable[[], bool], patience_s: float) -> bool:
    end = time.perf_counter() + patience_s
    while not true():
        if time.perf_counter() > end:
            return False
        time.sleep(0.05)
    return True
