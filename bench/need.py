"""How often bounds of need hold, and what is held in vain: ``python -m bench.need``.

Three made-up traces of calls, of which the last 3,000 count. Inputs are a conversation's, 700 to
1,300 tokens, known by their bytes; outputs are lognormal (``steady``), lognormal with a median that
jumps every 500 calls (``phases``), or Pareto with an infinite variance (``heavy tail``).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from random import Random  # noqa: TID251 - always with a seed
from statistics import fmean
from time import process_time
from typing import Final, TypeAlias

from gateway.admission.legacy.estimator import Terms
from gateway.admission.need.conformal import Conformal, Predictor
from gateway.admission.need.sigma import Legacy
from gateway.admission.need.traits import Traits
from gateway.admission.need.value import SubCall
from pricing.usage import Usage

_WARM_UP, _COUNTED = 200, 3000
_MOST: Final = 4096
_PHASE: Final = 500
_TARGET: Final = 0.98
_REPEATED: Final = 5


@dataclass(frozen=True, slots=True)
class Turn:
    """A call of a trace: tokens of both sides, and which distribution its output is from."""

    input: int
    output: int
    phase: int = 0

    def call(self, chance: Random) -> SubCall:
        """Return it as the gateway sees it: with about four bytes a token of input."""
        size = round(self.input * chance.gauss(4, 0.1))
        return SubCall("model", "plain", "answer", Traits(text_bytes=size, framed=True))


Trace: TypeAlias = Callable[[Random, int], Turn]


def steady(chance: Random, _: int) -> Turn:
    """Draw from one lognormal distribution."""
    return Turn(_input(chance), _output(chance.lognormvariate(4.6, 0.9)))


def phases(chance: Random, index: int) -> Turn:
    """Draw from two lognormal distributions in turn, one of seven times the other's median."""
    phase = index // _PHASE % 2
    return Turn(_input(chance), _output(chance.lognormvariate((4.0, 6.0)[phase], 0.5)), phase)


def heavy_tail(chance: Random, _: int) -> Turn:
    """Draw from a Pareto distribution of shape 1.5."""
    return Turn(_input(chance), _output(60 * chance.paretovariate(1.5)))


def _input(chance: Random) -> int:
    return chance.randint(700, 1300)


def _output(drawn: float) -> int:
    return min(max(round(drawn), 1), _MOST)


TRACES: Final[Mapping[str, Trace]] = {
    "steady": steady,
    "phases": phases,
    "heavy tail": heavy_tail,
}

PREDICTORS: Final[Mapping[str, Callable[[], Predictor]]] = {
    "legacy, mean and 2 sigma": lambda: Legacy(Terms()),
    "legacy, quantile 0.95": lambda: Legacy(Terms(), share=0.95),
    "conformal, fixed quantile": lambda: Conformal(step=0),
    "conformal, adaptive": Conformal,
}


@dataclass(frozen=True, slots=True)
class Score:
    """Of one run: the shares of calls whose bounds held, and tokens held for each one used."""

    output_covered: float
    covered: float
    output_ratio: float
    ratio: float


def score(predictor: Predictor, trace: Trace, seed: int) -> Score:
    """Run *predictor* along *trace*."""
    chance = Random(seed)
    held, used, output_held, output_used, fit, output_fit = 0, 0, 0, 0, 0, 0
    for index in range(_WARM_UP + _COUNTED):
        turn = trace(chance, index)
        call = turn.call(chance)
        need = predictor.need(call)
        seen = predictor.record(call, need, Usage(turn.input, turn.output))
        if index >= _WARM_UP:
            held, used = held + seen.held, used + seen.used
            output_held, output_used = output_held + need.output, output_used + turn.output
            fit, output_fit = fit + (seen.used <= seen.held), output_fit + (not seen.output_missed)
    return Score(output_fit / _COUNTED, fit / _COUNTED, output_held / output_used, held / used)


def ideal(trace: Trace, seed: int) -> Score:
    """Return what one would reach who knows each phase's distribution, and the input."""
    chance = Random(seed)
    turns = [trace(chance, index) for index in range(_WARM_UP + _COUNTED)][_WARM_UP:]
    bounds = {}
    for phase in {turn.phase for turn in turns}:
        outputs = sorted(turn.output for turn in turns if turn.phase == phase)
        bounds[phase] = outputs[ceil(_TARGET * len(outputs)) - 1]
    covered = fmean(turn.output <= bounds[turn.phase] for turn in turns)
    output_held = sum(bounds[turn.phase] for turn in turns)
    output_used, entry = sum(turn.output for turn in turns), sum(turn.input for turn in turns)
    ratio = (entry + output_held) / (entry + output_used)
    return Score(covered, covered, output_held / output_used, ratio)


def table(seeds: int) -> Iterator[str]:
    """Yield the lines of a table: predictors by traces, means over *seeds* runs."""
    yield "| trace | predictor | output covered, % (least to most) | both covered, % "
    yield "| held for each used, output | held for each used, both |\n|---|---|---|---|---|---|\n"
    for name, trace in TRACES.items():
        for title, make in PREDICTORS.items():
            runs = [score(make(), trace, seed) for seed in range(seeds)]
            yield _row(name, title, runs)
        yield _row(name, "who knows the distribution", [ideal(trace, s) for s in range(seeds)])


def _row(trace: str, title: str, runs: Sequence[Score]) -> str:
    covered = [100 * run.output_covered for run in runs]
    spread = f"{fmean(covered):.2f} ({min(covered):.2f} to {max(covered):.2f})"
    both = 100 * fmean(run.covered for run in runs)
    output = fmean(run.output_ratio for run in runs)
    ratio = fmean(run.ratio for run in runs)
    return f"| {trace} | {title} | {spread} | {both:.2f} | {output:.2f} | {ratio:.2f} |\n"


def cost() -> Iterator[str]:
    """Yield what predicting costs, in CPU microseconds a sub-call: the least of some rounds."""
    chance = Random(1)
    turns = [steady(chance, index) for index in range(_COUNTED)]
    calls = [turn.call(chance) for turn in turns]
    usages = [Usage(turn.input, turn.output) for turn in turns]
    predictor = Conformal()
    asked, told, kept = [], [], []
    for _ in range(_REPEATED):
        asking, telling = 0.0, 0.0
        for call, usage in zip(calls, usages, strict=True):
            begun = process_time()
            need = predictor.need(call)
            between = process_time()
            predictor.record(call, need, usage)
            asking, telling = asking + between - begun, telling + process_time() - between
        asked.append(asking)
        told.append(telling)
        begun = process_time()
        for call in calls:
            predictor.need(call)
        kept.append(process_time() - begun)
    for title, rounds in (("need", asked), ("record", told), ("need, nothing new", kept)):
        yield f"{title}: {min(rounds) / _COUNTED * 1e6:.1f} us\n"


def main() -> int:
    """Print the table and the cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    seeds = parser.parse_args().seeds
    for line in (*table(seeds), "\n", *cost()):
        sys.stdout.write(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
