"""The router as a process of its own, on a free port."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import orjson

from techniques.core.json import Json
from tests.fakes.client import Exchange, Reply, request
from tests.patience import PATIENCE_S, eventually

ROOT = Path(__file__).parents[2]
TOKEN = "canary-router-token-4be0"


class RouterProcess:
    """It runs in *folder*, with *variables* in its environment, and nothing else of ours."""

    def __init__(
        self,
        folder: Path,
        variables: Mapping[str, str] | None = None,
        *,
        port: int = 0,
        config: Path | None = None,
    ) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.port = port
        self._log = folder / "router.txt"
        named = [] if config is None else ["-c", str(config)]
        self._command = [sys.executable, "-m", "router_service", *named]
        kept = {name: value for name, value in os.environ.items() if "LOCKGATE" not in name}
        self._variables = {
            **kept,
            "PYTHONPATH": str(ROOT),
            "LOCKGATE_SERVER__PORT": str(port),
            "LOCKGATE_DATABASE__REFRESH_S": "0.1",
            **(variables or {}),
        }

    def __enter__(self) -> RouterProcess:
        self.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """Everything the process has written so far."""
        return self._log.read_text(errors="replace")

    def start(self) -> None:
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                self._command, stdout=log, stderr=log, env=self._variables, cwd=self.folder
            )
        try:
            self._wait_until_ready()
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise

    def stop(self) -> int:
        """Ask the process to end, wait for it and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        """Let it hang: connections stay open and nothing is answered."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def ask(
        self, method: str, path: str, body: bytes | None = None, token: str | None = None
    ) -> Reply:
        """Ask it, with *token* as bearer."""
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return Exchange(self.port, request(path, body, headers, method)).whole()

    def post(self, path: str, body: Json) -> Reply:
        """Send *body* as JSON."""
        return self.ask("POST", path, orjson.dumps(body))

    def _wait_until_ready(self) -> None:
        if not eventually(self._has_started):
            raise RuntimeError(f"The router was not ready in time:\n{self.log}")

    def _has_started(self) -> bool:
        if self.process.poll() is not None:
            raise RuntimeError(f"The router did not start:\n{self.log}")
        after = self.log.partition("routing at http://127.0.0.1:")[2]
        if "\n" not in after:
            return False
        self.port = int(after.partition("\n")[0])
        return self._is_ready()

    def _is_ready(self) -> bool:
        try:
            return self.ask("GET", "/readyz").status == 200
        except OSError:
            return False
