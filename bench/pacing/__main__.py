"""Sixteen agents on one account of 30,000 tokens a minute, through three gateways and without.

python -m bench.pacing                  less than ten minutes
python -m bench.pacing --quick          less than one, to see that it runs
python -m bench.pacing --arm reactive --vendor groq --runs 1
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final

import anyio

from bench.pacing.account import VENDORS
from bench.pacing.report import bars_table, broken, figures_table, late
from bench.pacing.running import ARMS, Ran, Wanted, run
from bench.report import write_between_markers
from bench.rig import HERE, CannotMeasure

_PAGE: Final = HERE.parent / "docs" / "evidence.md"
_QUICK: Final = Wanted(runs=1, steps=3, speed=20.0)


def page(ran: Ran, wanted: Wanted) -> str:
    """Return the results as Markdown."""
    head = (
        f"A run of {datetime.now(UTC):%Y-%m-%d}: {wanted.runs} fleets a line, {wanted.steps} steps"
        f" an agent, {wanted.speed:g} times faster than the world.{late(ran)}"
    )
    return "\n\n".join((head, bars_table(ran), figures_table(ran)))


def options() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one short run of each")
    parser.add_argument("--arm", action="append", choices=ARMS, help="only this; repeatable")
    parser.add_argument("--vendor", action="append", choices=VENDORS, help="only this; repeatable")
    parser.add_argument("--runs", type=int, help="fleets of each kind, each with its own seed")
    parser.add_argument("--steps", type=int, help="of each agent")
    parser.add_argument("--speed", type=float, help="how many times faster than the world")
    parser.add_argument("--write", action="store_true", help="put the results into docs/")
    return parser


def wanted_of(given: argparse.Namespace) -> Wanted:
    """Return what *given* asks for."""
    usual = _QUICK if given.quick else Wanted()
    return Wanted(
        arms=given.arm or usual.arms,
        vendors=given.vendor or usual.vendors,
        runs=given.runs or usual.runs,
        steps=given.steps or usual.steps,
        speed=given.speed or usual.speed,
    )


def main(words: Sequence[str] | None = None) -> int:
    """Run and print; 1 when it could not."""
    given = options().parse_args(words)
    wanted, ran = wanted_of(given), Ran()
    try:
        anyio.run(partial(run, wanted, ran))
        text = page(ran, wanted)
        if given.write:
            write_between_markers(_PAGE, text, "pacing")
    except CannotMeasure as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{text}\n")
    if ran.broken:
        sys.stderr.write(f"What failed:\n{broken(ran)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
