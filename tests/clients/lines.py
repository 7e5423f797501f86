"""Command lines, run without a terminal in folders of their own; none reaches anything else."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.clients.desk import ENVIRONMENTS, HERE, quiet
from tests.patience import PATIENCE_S

LINES: Final = HERE / "node" / "lines" / "node_modules"
_ALONE: Final[Mapping[str, str]] = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "AIDER_ANALYTICS": "false",
    "AIDER_CHECK_UPDATE": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command line ended, and what it printed."""

    status: int
    said: str
    complained: str


@dataclass(frozen=True, slots=True)
class Folder:
    """A home and a folder to work in."""

    root: Path

    @property
    def home(self) -> Path:
        """Where a command line finds its settings."""
        return _made(self.root / "home")

    @property
    def work(self) -> Path:
        """Where it works."""
        return _made(self.root / "work")

    def run(
        self, command: Sequence[str], variables: Mapping[str, str], at: Path | None = None
    ) -> Ran:
        """Run *command* to its end, in the folder to work in if not *at* another."""
        ended = subprocess.run(
            [*command],
            env={**quiet(self.home), **_ALONE, **variables},
            cwd=at or self.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        return Ran(ended.returncode, ended.stdout, ended.stderr)


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


def native(pattern: str) -> str:
    """Return the program that *pattern* finds among the packages of Node, or skip the test."""
    found = next(iter(sorted(LINES.glob(pattern))), None)
    if found is None:
        pytest.skip("The packages of tests/clients/node/lines are not installed: make test-clients")
    return str(found)


def scripted(environment: str, name: str) -> str:
    """Return the command *name* of an environment of Python, or skip the test."""
    found = ENVIRONMENTS / environment / "bin" / name
    if not found.exists():
        pytest.skip(f"The environment {environment} is not installed: make test-clients")
    return str(found)
