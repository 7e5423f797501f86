"""What techniques do to recorded answers of real models, replayed through the real gateway.

python -m bench.quality                          about half an hour
python -m bench.quality --quick                  a few minutes, rougher
python -m bench.quality --set date_pot --technique self_consistency
python -m bench.quality --inside 12              votes in 12 orders, without the gateway
python -m bench.quality --model-url http://127.0.0.1:8080/v1 --model local     a model that runs
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from bench.quality import live
from bench.quality.arms import EVERY, LOOPED, POOLS, SIZES, VOTING, arms_of, every
from bench.quality.inside import paired
from bench.quality.keeping import keep, kept
from bench.quality.pooled import pooled
from bench.quality.recorded import RecordedSet
from bench.quality.replay import Terms
from bench.quality.report import bars, bars_table, points, table
from bench.quality.running import Ran, run
from bench.quality.sources import SETS, limited
from bench.report import write_between_markers
from bench.rig import HERE, CannotMeasure
from techniques.catalog.self_consistency import Options

_PAGE: Final = HERE.parent / "docs" / "evidence.md"
_DATA: Final = HERE / "data"
_QUICK: Final = ("date_pot", "llama_gsm", "codex_n40", "faithful_GSM8K", "small_05b", "bfcl")
_LIMITS: Final = {"quick": 40, "voting": None, "pools": 240, "every": 120}


@dataclass
class Done:
    """What was measured so far: with the arms of each set, and with every technique."""

    sets: dict[str, Ran] = field(default_factory=dict)
    every: dict[str, Ran] = field(default_factory=dict)


async def measure(given: argparse.Namespace, done: Done) -> None:
    """Run what *given* asks for."""
    terms = Terms(judge_error=given.judge_error)
    for name in given.set or (_QUICK if given.quick else SETS):
        recorded = SETS[name](given.data)
        most = given.limit or _limit(name, quick=given.quick)
        recorded = replace(recorded, questions=limited(recorded.questions, most))
        arms = arms_of(name, recorded, given.technique)
        often = given.repeats or (1 if given.quick else None)
        arms = [replace(arm, repeats=often or arm.repeats) for arm in arms]
        if arms:
            done.sets[name] = await _ran(
                given.keep, name, recorded, partial(run, recorded, arms, terms=terms)
            )
    for name in _every(given):
        recorded = SETS[name](given.data)
        most = given.limit or _LIMITS["quick" if given.quick else "every"]
        recorded = replace(recorded, questions=limited(recorded.questions, most))
        arms = every(name, recorded, given.technique)
        done.every[name] = await _ran(
            given.keep, f"{name}-every", recorded, partial(run, recorded, arms, terms=terms)
        )


async def _ran(
    folder: Path | None, name: str, recorded: RecordedSet, measure: Callable[[], Awaitable[Ran]]
) -> Ran:
    """Return what is kept in *folder* of that *name*; else *measure* it, and keep it there."""
    found = kept(folder, name, recorded)
    if found is None:
        found = await measure()
        keep(folder, name, found)
    return found


def _every(given: argparse.Namespace) -> list[str]:
    """Return the sets that every technique, or every one that loops, is to be run on."""
    if given.no_every:
        return []
    most = EVERY if given.quick else (*EVERY, *LOOPED)
    return [name for name in most if not given.set or name in given.set]


def _limit(name: str, *, quick: bool) -> int | None:
    if quick:
        return _LIMITS["quick"]
    return _LIMITS["pools"] if name in POOLS else _LIMITS["voting"]


def page(done: Done, given: argparse.Namespace) -> str:
    """Return the results as Markdown."""
    kind = "A quick run" if given.quick else "A run"
    head = (
        f"{kind} of {datetime.now(UTC):%Y-%m-%d}; simulated judges, critics and verifiers err in "
        f"{100 * given.judge_error:.0f} % of their verdicts."
    )
    terms = Terms(judge_error=given.judge_error)
    sets = [table(name, ran) for name, ran in done.sets.items()]
    all_of = [table(f"{name}, every technique", ran) for name, ran in done.every.items()]
    return "\n\n".join((head, bars_table(bars(done.sets, done.every, terms)), *sets, *all_of))


def _inside(given: argparse.Namespace) -> Iterator[str]:
    """Yield a line of a table for each vote, and for each technique of several models."""
    yield "| set | technique | points (95 %) | calls | calls saved |\n|---|---|---|---|---|\n"
    for name in given.set or (*VOTING, *POOLS):
        recorded = SETS[name](given.data)
        most = given.limit or _limit(name, quick=given.quick)
        recorded = replace(recorded, questions=limited(recorded.questions, most))
        for size in SIZES if name in VOTING else ():
            vote = paired(recorded, Options(num_samples=size), given.inside)
            calls = size * (1 - vote.saved / 100)
            kept = f"{points(vote.gained)} | {calls:.2f} | {vote.saved:.0f} %"
            yield f"| {name} | self_consistency N={size} | {kept} |\n"
        arms = [arm for arm in arms_of(name, recorded, given.technique) if arm.calibrated]
        for label, one in pooled(recorded, arms, given.inside).items() if arms else ():
            yield f"| {name} | {label} | {points(one.gained)} | {one.calls:.2f} | |\n"


def options() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=_DATA, help="the folder of recorded answers")
    parser.add_argument("--quick", action="store_true", help="fewer sets and questions")
    parser.add_argument("--set", action="append", choices=SETS, help="only this set; repeatable")
    parser.add_argument("--technique", action="append", default=[], help="only this; repeatable")
    parser.add_argument("--limit", type=int, help="at most so many questions of each set")
    parser.add_argument("--repeats", type=int, help="how often to ask each question")
    parser.add_argument("--judge-error", type=float, default=Terms().judge_error)
    parser.add_argument("--no-every", action="store_true", help="leave out every technique's run")
    parser.add_argument(
        "--keep", type=Path, help="a folder; what is there of a set is not measured again"
    )
    parser.add_argument("--write", action="store_true", help="put the results into docs/")
    parser.add_argument("--inside", type=int, help="votes in so many orders instead, no gateway")
    parser.add_argument("--model-url", help="ask a model that runs there instead of replaying")
    parser.add_argument("--model", default="local", help="what it is called there")
    return parser


def _check(folder: Path) -> None:
    if not folder.is_dir():
        raise CannotMeasure(f"{folder} is not there; --data names the recorded answers.")


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when it could not."""
    given = options().parse_args(words)
    done = Done()
    try:
        if given.model_url:
            asked = live.measured(given.model_url, given.model, given.limit or 40)
            sys.stdout.write(f"{asyncio.run(asked)}\n")
            return 0
        _check(given.data)
        if given.inside:
            for line in _inside(given):
                sys.stdout.write(line)
                sys.stdout.flush()
            return 0
        asyncio.run(measure(given, done))
        text = page(done, given)
        if given.write:
            write_between_markers(_PAGE, text)
    except CannotMeasure as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
