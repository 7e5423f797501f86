"""What the documents show, cut out of them, and typed as a reader would."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.fakes.gateway import ADMIN_TOKEN, KEY_SECRET

ROOT = Path(__file__).parents[2]
ADDRESS = "http://127.0.0.1:8080"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def fences(document: str) -> list[tuple[str, str]]:
    """Return the code blocks of *document*, each with its language."""
    return _FENCE.findall((ROOT / document).read_text("utf-8"))


def blocks(document: str, language: str) -> list[str]:
    """Return the code blocks of *document* that are in *language*."""
    return [body for name, body in fences(document) if name == language]


def lines(block: str) -> list[str]:
    """Return the shell lines of *block*, continued ones joined."""
    joined = block.replace("\\\n", "")
    return [line.strip() for line in joined.splitlines() if line.strip()]


def commands(document: str) -> list[str]:
    """Return the shell lines of *document*, continued ones joined."""
    return [line for block in blocks(document, "sh") for line in lines(block)]


def command_of(line: str) -> list[str]:
    """Return how *line* is run; ``lockgate`` is that of these sources."""
    own = re.sub(r"^lockgate ", f"{sys.executable} -m gateway.cli ", line)
    return ["bash", "-euo", "pipefail", "-c", own]


def run(arguments: list[str], folder: Path, **more: str) -> str:
    """Return what *arguments* print in *folder*, with *more* in their environment."""
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(folder),
        "LOCKGATE_KEY_SECRET": KEY_SECRET,
        "LOCKGATE_ADMIN_TOKEN": ADMIN_TOKEN,
        "PYTHONPATH": str(ROOT),
        **more,
    }
    result = subprocess.run(
        arguments, capture_output=True, text=True, env=environment, cwd=folder, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout
