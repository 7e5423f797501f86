"""What the documents show, cut out of them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ADDRESS = "http://127.0.0.1:8080"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(document: str, language: str) -> list[str]:
    """Return the code blocks of *document* that are in *language*."""
    text = (ROOT / document).read_text("utf-8")
    return [body for name, body in _FENCE.findall(text) if name == language]


def commands(document: str) -> list[str]:
    """Return the shell lines of *document*, continued ones joined."""
    joined = "".join(blocks(document, "sh")).replace("\\\n", "")
    return [line.strip() for line in joined.splitlines() if line.strip()]
