"""What docs/learning.md has a reader type in the first hour: each line works."""

from __future__ import annotations

from pathlib import Path

from tests.docs.documents import blocks, command_of, commands, run

PAGE = "docs/learning.md"


def test_the_first_hour_ends_with_something_learnt(tmp_path: Path) -> None:
    (tmp_path / "lockgate.yaml").write_text(blocks(PAGE, "yaml")[1], "utf-8")

    told = [
        run(command_of(line.replace("doctor ", "doctor --offline ")), tmp_path)
        for line in commands(PAGE)
    ]

    assert len(told) == 5
    assert "2 traces to make" in told[2]
    assert "2 prompts were learnt of" in told[3]
    assert " observations, " in told[4]
