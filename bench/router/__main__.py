"""What the router makes of prompts that several models answered: quality against cost.

python -m bench.router                           some ten minutes
python -m bench.router --quick                   a minute, rougher
python -m bench.router --set gsm8k --encoder hashed
python -m bench.router --set gsm8k --encoder fastembed --model NAME --folder DIR
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # noqa: TID251 - before numpy is read

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np

from bench.report import write_between_markers
from bench.rig import HERE, CannotMeasure
from bench.router import encoders, growing
from bench.router.measuring import Measured, Terms, is_pair, measured, vectors_of
from bench.router.report import ASKED_TOOL, STRONG, bars, bars_table, failures, table
from bench.router.rivals import RIVALS, Task
from bench.router.sets import SETS, RoutedSet
from router_service.embedding.encoders import encoder_of
from router_service.embedding.settings import EmbeddingSettings

_PAGE: Final = HERE.parent / "docs" / "router-evidence.md"
_DATA: Final = HERE / "data"
_QUICK: Final = 400
_LARGE: Final = 2000  # prompts: of so many one division into folds tells enough


def _measured(given: argparse.Namespace) -> dict[str, Measured]:
    encoder = encoder_of(_encoder(given))
    done: dict[str, Measured] = {}
    for name in given.set or SETS:
        routed = _loaded(name, given)
        terms = _terms(routed, given)
        task = Task(routed, vectors_of(routed, encoder), _asked_for(routed))
        done[name] = measured(task, terms)
        strongest = int(routed.quality.mean(axis=0).argmax())
        if name != "mmlu_unlabelled":  # it would be the same again
            ours = {"semknn": RIVALS["semknn"]}
            once = replace(terms, repeats=1)
            done[name + STRONG] = measured(replace(task, plain=strongest), once, ours)
    return done


def _encoder(given: argparse.Namespace) -> EmbeddingSettings:
    return EmbeddingSettings(kind=given.encoder, model=given.model, folder=given.folder)


def _loaded(name: str, given: argparse.Namespace) -> RoutedSet:
    routed = SETS[name](given.data)
    most = given.limit or (_QUICK if given.quick else len(routed))
    if len(routed) <= most:
        return routed
    return routed.part(np.arange(most) * len(routed) // most)


def _asked_for(routed: RoutedSet) -> int:
    """Return the model that is asked for: of two the weaker, among the tool callers gpt-4o."""
    return 0 if is_pair(routed) else routed.models.index(ASKED_TOOL)


def _terms(routed: RoutedSet, given: argparse.Namespace) -> Terms:
    few = given.quick or len(routed) > _LARGE
    return Terms(repeats=1 if few else given.repeats, seed=given.seed)


def page(done: dict[str, Measured], given: argparse.Namespace) -> str:
    """Return the results as Markdown."""
    kind = "A quick run" if given.quick else "A run"
    head = (
        f"{kind} of {datetime.now(UTC):%Y-%m-%d}, seed {given.seed}, encoder {given.encoder}; "
        f"divided {given.repeats} times where there are fewer than {_LARGE:,} prompts"
        f"{f'; at most {given.limit:,} prompts of each set' if given.limit else ''}."
    )
    found = bars(done)
    parts = [
        head,
        bars_table(found),
        f"### What fell short\n\n{failures(done, found)}",
        *(table(name, each) for name, each in done.items() if not name.endswith(STRONG)),
        growing.table(done, given.seed, given.drawings),
    ]
    return "\n\n".join(parts)


def options() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = ("mixed", "static", "hashed", "fastembed")
    parser.add_argument("--data", type=Path, default=_DATA, help="the folder of recorded answers")
    parser.add_argument(
        "--quick", action="store_true", help=f"at most {_QUICK} prompts of each set"
    )
    parser.add_argument("--set", action="append", choices=list(SETS), help="only this, repeatable")
    parser.add_argument("--limit", type=int, help="at most so many prompts of each set")
    parser.add_argument("--repeats", type=int, default=3, help="divisions of a small set")
    parser.add_argument("--drawings", type=int, default=5, help="of few observations")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--encoder", choices=kinds, default="mixed")
    parser.add_argument("--model", default="", help="fastembed's name of the model")
    parser.add_argument("--folder", type=Path, help="where that model is")
    parser.add_argument("--encoders", action="store_true", help="compare the encoders instead")
    parser.add_argument("--write", action="store_true", help="put the results into docs/")
    return parser


def _check(folder: Path) -> None:
    if not folder.is_dir():
        raise CannotMeasure(f"{folder} is not there; --data names the recorded answers.")


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when it could not."""
    given = options().parse_args(words)
    try:
        _check(given.data)
        if given.encoders:
            what, text = "encoders", encoders.table(given.data, given.model, given.folder)
        else:
            what, text = "bench", page(_measured(given), given)
        if given.write:
            write_between_markers(_PAGE, text, what)
    except (CannotMeasure, FileNotFoundError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
