"""Processes under measurement: started, pinned to cores, read out of /proc, stopped."""

from __future__ import annotations

import fcntl
import http.client
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import orjson

HERE: Final = Path(__file__).parent
SERVER_CORE: Final = 0
LOAD_CORE: Final = 1
_TICK: Final = os.sysconf("SC_CLK_TCK")
_NANO: Final = 1e9


class CannotMeasure(Exception):
    """The benchmark cannot run here; the message says what is missing."""


def build() -> None:
    """Compile the C programs.

    Raises:
        CannotMeasure: There is no compiler, or it failed.
    """
    if not any(shutil.which(name) for name in ("cc", "gcc", "clang")):
        raise CannotMeasure(
            "The benchmark needs a C compiler (its load generator and mock upstream are in C): "
            "install gcc or clang and run it again."
        )
    command = ["make", "-s", "-C", str(HERE)]
    with (HERE / "Makefile").open() as one:  # at a time: who comes second finds them made
        fcntl.flock(one, fcntl.LOCK_EX)
        made = subprocess.run(command, check=False)
    if made.returncode:
        raise CannotMeasure("bench/*.c did not compile: Linux with glibc 2.35 or newer is needed.")


def pinned(command: Sequence[str], core: int) -> list[str]:
    """Return *command* bound to one core, where there are two and ``taskset`` is there."""
    if (os.cpu_count() or 1) < 2 or not shutil.which("taskset"):
        return list(command)
    return ["taskset", "-c", str(core), *command]


@dataclass
class Server:
    """A process on the loopback address. ``log`` takes what it prints."""

    name: str
    port: int
    process: subprocess.Popen[bytes]
    log: Path
    started: float = field(default_factory=time.perf_counter)

    def stop(self) -> None:
        """End the process and its children, in ten seconds at most."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            for pid in reversed(list(self._pids())):
                os.kill(pid, signal.SIGKILL)
            self.process.wait(10)
        if self.process.stdout:
            self.process.stdout.close()

    def cpu_s(self) -> float:
        """Return the seconds of CPU used so far by the process and its children."""
        return sum(_cpu_s(pid) for pid in self._pids())

    def waited_s(self) -> float:
        """Return for how many seconds its threads were ready to run but had no core."""
        return sum(_schedstat(pid)[1] for pid in self._pids())

    def pss_mib(self) -> float:
        """Return its memory, pages that are shared with others counted in part."""
        return self._memory_mib("Pss:")

    def heap_mib(self) -> float:
        """Return its memory that no file backs: what grows with a leak, whoever else runs."""
        return self._memory_mib("Anonymous:")

    def _memory_mib(self, field_name: str) -> float:
        total = 0
        for pid in self._pids():
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith(field_name):
                    total += int(line.split()[1])
        return total / 1024

    def _pids(self) -> Iterator[int]:
        waiting = [self.process.pid]
        while waiting:
            pid = waiting.pop()
            yield pid
            for task in Path(f"/proc/{pid}/task").glob("*/children"):
                waiting += [int(child) for child in task.read_text().split()]


def start(
    name: str, command: Sequence[str], port: int, where: Path, *, core: int = SERVER_CORE
) -> Server:
    """Start *command* on the servers' core, or another, in the directory *where*."""
    log = where / f"{name}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            pinned(command, core), cwd=where, stdout=out, stderr=subprocess.STDOUT
        )
    return Server(name, port, process, log)


def start_upstream(where: Path) -> Server:
    """Start the mock upstream on the load generator's core."""
    log = where / "upstream.log"
    with log.open("wb") as err:
        process = subprocess.Popen(
            pinned([str(HERE / "build" / "upstream")], LOAD_CORE),
            stdout=subprocess.PIPE,
            stderr=err,
        )
    if process.stdout is None:
        raise CannotMeasure("The mock upstream has no output.")
    return Server("upstream", int(process.stdout.readline()), process, log)


@dataclass(frozen=True, slots=True)
class Call:
    """A request to measure with. ``headers`` are the client's, its key among them."""

    path: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


def first_200_s(server: Server, call: Call, patience_s: float) -> float:
    """Return the seconds from the start of *server* until it answered *call* with 200.

    Raises:
        CannotMeasure: It ended, or did not within *patience_s*. Its last lines are told.
    """
    while time.perf_counter() - server.started < patience_s:
        if server.process.poll() is not None:
            break
        try:
            status = post(server.port, call)
        except OSError:
            status = 0
        if status == 200:
            return time.perf_counter() - server.started
        time.sleep(0.01)
    lines = server.log.read_text(errors="replace").splitlines()[-6:]
    said = "\n".join(line[-600:] for line in lines)
    raise CannotMeasure(f"{server.name} did not answer with 200. It said:\n{said}")


def post(port: int, call: Call) -> int:
    """Send *call* once and return the status."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        headers = {"content-type": "application/json", **dict(call.headers)}
        connection.request("POST", call.path, call.body, headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def upstream_stats(upstream: Server) -> dict[str, int]:
    """Return what the mock upstream counted."""
    connection = http.client.HTTPConnection("127.0.0.1", upstream.port, timeout=10)
    try:
        connection.request("GET", "/stats")
        stats: dict[str, int] = orjson.loads(connection.getresponse().read())
        return stats
    finally:
        connection.close()


def _cpu_s(pid: int) -> float:
    ran, _ = _schedstat(pid)
    if ran:
        return ran
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK  # utime, stime


def _schedstat(pid: int) -> tuple[float, float]:
    """Return the seconds that the threads of *pid* ran, and waited; zeros where not counted.

    To the nanosecond, where utime and stime are counted in ticks of 10 ms.
    """
    ran = waited = 0
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            fields = path.read_text().split()
        except FileNotFoundError:
            continue
        ran += int(fields[0])
        waited += int(fields[1])
    return ran / _NANO, waited / _NANO
