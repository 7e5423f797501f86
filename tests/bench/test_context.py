from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from bench import context
from techniques.core.json import Json


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of conversations, each with a tool that tells much."""
    call: Json = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    step: list[Json] = [
        {"role": "user", "content": "Look up order A-77, by May 5."},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "It is there. " * 40},
        {"role": "assistant", "content": "Order A-77 is on its way. " * 9},
    ]
    path = tmp_path / "talks.jsonl.gz"
    with gzip.open(path, "wt") as lines:
        lines.writelines(json.dumps({"messages": step * 9}) + "\n" for _ in range(3))
    return path


def test_a_row_for_every_rule_with_and_without_a_cache(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    context.main([str(file), "--window", "1600"])

    _, _, *rows, last = capsys.readouterr().out.splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [row[1:3] for row in cells] == [
        [cache, rule]
        for cache in ("no", "yes")
        for rule in ("drop_tool_results", "truncate", "summarise", "always")
    ]
    assert all(int(row[8].rstrip("%")) < 100 for row in cells)
    assert last.startswith("turns to come, mean error: ")
