"""Runs that survive: replicas killed, clients that leave, a provider that refuses; and recovery.

python -m bench.runs                    chaos over PostgreSQL and SQLite, E2 and recovery
python -m bench.runs --quick            the same, small
python -m bench.runs --only chaos --runs 50 --kills 4 --replicas 2 --database sqlite
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final

import anyio

from bench.report import write_between_markers
from bench.rig import HERE, CannotMeasure
from bench.runs.chaos import Size, chaos, chaos_table
from bench.runs.paced import paced, paced_table
from bench.runs.recovery import recovery, recovery_table

_PAGE: Final = HERE.parent / "docs" / "evidence.md"
_FULL: Final = (
    Size(runs=200, replicas=3, database="postgresql", kills=15),
    Size(runs=200, replicas=1, database="sqlite", kills=8),
)
_QUICK: Final = (Size(runs=12, replicas=2, database="sqlite", kills=2, every_s=1.0),)
PARTS: Final = ("chaos", "paced", "recovery")


async def measured(given: argparse.Namespace) -> tuple[str, list[str]]:
    """Return what was measured, as Markdown, and what was wrong."""
    texts, wrong = [f"A run of {datetime.now(UTC):%Y-%m-%d}."], []
    parts = given.only or PARTS
    if "chaos" in parts:
        verdicts = [(size, await chaos(size)) for size in _sizes(given)]
        texts.append(chaos_table(verdicts))
        wrong += [one for _, verdict in verdicts for one in verdict.wrong]
    if "paced" in parts:
        texts.append(paced_table(await paced(seeds=1 if given.quick else 5)))
    if "recovery" in parts:
        texts.append(recovery_table(await recovery((0.5,) if given.quick else (0.1, 0.5, 0.9))))
    return "\n\n".join(texts), wrong


def _sizes(given: argparse.Namespace) -> Sequence[Size]:
    if given.runs is None:
        return _QUICK if given.quick else _FULL
    return [Size(given.runs, given.replicas, given.database, given.kills)]


def options() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small, to see that it runs")
    parser.add_argument("--only", action="append", choices=PARTS, help="only this; repeatable")
    parser.add_argument("--runs", type=int, help="one chaos of so many runs")
    parser.add_argument("--replicas", type=int, default=3, help="... over so many replicas")
    parser.add_argument("--kills", type=int, default=6, help="... of which so many are killed")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--write", action="store_true", help="put the results into docs/")
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Run and print; 1 when something was wrong, or it could not."""
    given = options().parse_args(words)
    try:
        text, wrong = anyio.run(partial(measured, given))
    except CannotMeasure as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{text}\n")
    for one in wrong:
        sys.stderr.write(f"WRONG: {one}\n")
    if given.write:
        write_between_markers(_PAGE, text, "runs")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
