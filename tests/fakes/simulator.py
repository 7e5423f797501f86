"""The simulated provider as a process of its own, on a free port."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE_S

_ROOT = Path(__file__).parents[2]
_SAID = re.compile(r"^simulating at http://127\.0\.0\.1:(\d+)/v1$")


class Simulator:
    """A running ``lockgate simulate``, told *options*."""

    def __init__(self, *options: str) -> None:
        self._command = [
            *(sys.executable, "-m", "gateway.cli", "simulate", "--port", "0"),
            *options,
        ]
        self.port = 0

    def __enter__(self) -> Simulator:
        self.process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=_ROOT
        )
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        found = _SAID.match(said)
        if found is None:
            self.stop()
            raise RuntimeError(f"The simulator did not start: {said}")
        self.port = int(found[1])
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Where it is, as a provider's ``base_url``."""
        return f"http://127.0.0.1:{self.port}/v1"

    def stop(self) -> int:
        """Ask the process to end, wait for it and return its exit code."""
        self.process.terminate()
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
        finally:
            if self.process.stdout is not None:
                self.process.stdout.close()
