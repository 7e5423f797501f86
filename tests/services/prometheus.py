"""A real Prometheus on a free loopback port, with the rules of this repository."""

from __future__ import annotations

import json
import math
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final
from urllib.parse import urlencode

import yaml

from bench.ports import free_port
from techniques.core.json import Json, JsonObject
from tests.patience import PATIENCE_S, eventually

RULES: Final = Path(__file__).parents[2] / "deploy" / "prometheus" / "rules"
BINARY: Final = shutil.which("prometheus")
"""Where it is installed, None if it is not."""


@dataclass
class Prometheus:
    """It scrapes *target* every second, with *token* as bearer; its files lie in *folder*."""

    folder: Path
    target: str
    token: str
    port: int = 0
    _process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Prometheus:
        assert BINARY is not None
        self.port = free_port()
        file = self.folder / "prometheus.yml"
        file.write_text(yaml.safe_dump(self._config()))
        with (self.folder / "prometheus.log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    BINARY,
                    f"--config.file={file}",
                    f"--storage.tsdb.path={self.folder / 'data'}",
                    f"--web.listen-address=127.0.0.1:{self.port}",
                    "--enable-feature=exemplar-storage",
                    "--log.level=warn",
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            self._wait_until_ready()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def ask(self, path: str, **told: str | float) -> Json:
        """Return what the API answers."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urlencode(told)}"
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            return json.load(answer)["data"]

    def scrapes(self) -> float:
        """Return how often it has looked at the target."""
        found = self.ask("query", query="count_over_time(up[5m])")["result"]
        return sum(float(one["value"][1]) for one in found)

    def finite(self, expr: str, seconds: float | None) -> int:
        """Return how many series *expr* has with a number in it: now, or in the last *seconds*."""
        now = time.time()
        found: Sequence[JsonObject]
        if seconds is None:
            found = self.ask("query", query=expr, time=now)["result"]
            values = [[one["value"]] for one in found]
        else:
            found = self.ask("query_range", query=expr, start=now - seconds, end=now, step=1)[
                "result"
            ]
            values = [one["values"] for one in found]
        return sum(any(math.isfinite(float(value)) for _, value in one) for one in values)

    def _config(self) -> Mapping[str, Json]:
        scraped: JsonObject = {
            "job_name": "lockgate",
            "static_configs": [{"targets": [self.target]}],
            "authorization": {"credentials": self.token},
        }
        return {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(RULES / "*.yml")],
            "scrape_configs": [scraped],
        }

    def _wait_until_ready(self) -> None:
        assert eventually(self._is_ready), (self.folder / "prometheus.log").read_text()

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=2):
                return True
        except OSError:
            return False

    def _stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
