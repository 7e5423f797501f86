"""A client program that runs beside a test: one process a client, asked one operation at a time."""

from __future__ import annotations

import json
import os
import selectors
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from techniques.core.json import Json, JsonObject
from tests.patience import PATIENCE_S

ROOT: Final = Path(__file__).parents[2]
HERE: Final = Path(__file__).parent
ENVIRONMENTS: Final = ROOT / ".clients"
SDKS: Final = HERE / "node" / "sdks"
_MARK: Final = "\x1e"


def python_of(environment: str) -> Path | None:
    """Return the interpreter of *environment*, None where it is not installed."""
    found = ENVIRONMENTS / environment / "bin" / "python"
    return found if found.exists() else None


def node() -> str | None:
    """Return the Node that is installed with the frameworks, or else one that is on the path."""
    own = ENVIRONMENTS / "frameworks" / "bin" / "node"
    return str(own) if own.exists() else shutil.which("node")


def command_of(program: str, environment: str) -> list[str] | str:
    """Return how *program* is started, or why it cannot be."""
    if environment == "node":
        found = node()
        if found is None:
            return "Node is not installed"
        if not (SDKS / "node_modules").exists():
            return "The packages of tests/clients/node/sdks are not installed: make clients"
        return [found, str(SDKS / f"{program}.mjs")]
    python = python_of(environment)
    if python is None:
        return f"The environment {environment} is not installed: make clients"
    return [str(python), "-m", f"tests.clients.programs.{program}"]


def quiet(folder: Path) -> dict[str, str]:
    """Return an environment in which no client speaks to anything but the gateway."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(ROOT),
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "LANGSMITH_TRACING": "false",
        "LANGCHAIN_TRACING_V2": "false",
        "DO_NOT_TRACK": "1",
        "NO_PROXY": "*",
    }


class Desk:
    """A running client program."""

    def __init__(self, command: list[str]) -> None:
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        self._errors = folder / "stderr.txt"
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=quiet(folder),
                cwd=folder,
            )
        self._held = b""

    def asks(self, operation: str, place: Mapping[str, Json]) -> JsonObject:
        """Return what came of *operation* at *place*.

        Raises:
            RuntimeError: The program ended, or took too long.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": operation, **place}).encode() + b"\n")
        self._process.stdin.flush()
        while True:
            line = self._line()
            if line.startswith(_MARK):
                said: JsonObject = json.loads(line[1:])
                return said

    def close(self) -> None:
        """End the program."""
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()

    def _line(self) -> str:
        """Return the next line that the program writes."""
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._held:
                if not selector.select(PATIENCE_S):
                    raise RuntimeError(f"The client took too long:\n{self._said()}")
                read = os.read(self._process.stdout.fileno(), 65536)
                if not read:
                    raise RuntimeError(f"The client ended:\n{self._said()}")
                self._held += read
        line, _, self._held = self._held.partition(b"\n")
        return line.decode()

    def _said(self) -> str:
        return self._errors.read_text(errors="replace")[-3000:]
