"""Keeps what was measured of each set, so that a run that was broken off can go on."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import orjson

from bench.quality.recorded import RecordedSet
from bench.quality.running import Ran, Tally


def keep(folder: Path | None, name: str, ran: Ran) -> None:
    """Write *ran* into *folder*, if there is one, under *name*."""
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    tallies = {label: vars(tally) for label, tally in ran.tallies.items()}
    asked = [question.id for question in ran.recorded.questions]
    _file(folder, name).write_bytes(orjson.dumps({"asked": asked, "tallies": tallies}))


def kept(folder: Path | None, name: str, recorded: RecordedSet) -> Ran | None:
    """Return what is in *folder* under *name* of the questions of *recorded*, None if nothing."""
    if folder is None or not _file(folder, name).is_file():
        return None
    found = orjson.loads(_file(folder, name).read_bytes())
    questions = {question.id: question for question in recorded.questions}
    asked = tuple(questions[one] for one in found["asked"])
    tallies = {label: _tally(row) for label, row in found["tallies"].items()}
    return Ran(replace(recorded, questions=asked), tallies)


def _tally(row: dict[str, object]) -> Tally:
    made = Tally(**row)  # type: ignore[arg-type]
    made.warnings, made.failures = Counter(made.warnings), Counter(made.failures)
    return made


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"
