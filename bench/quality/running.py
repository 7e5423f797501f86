"""Asks every question of a set under every technique, and keeps what came of it."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import aiohttp
import orjson

from bench.quality.recorded import Question, RecordedSet, is_right
from bench.quality.replay import Replay, Terms
from bench.quality.rig import Client, Given, calibrated, served, start_gateway, wait
from bench.quality.statistics import Estimate, difference
from techniques import catalog
from techniques.core.json import Json, JsonObject
from techniques.core.registry import load

_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True)
class Arm:
    """One way of asking: a technique, its options, and the models it may use.

    ``model`` is the one that is asked, "" for the first of the set; ``channels`` are the others of
    its pool. ``calibrated`` has the gateway know how often each is right. Each question is asked
    ``repeats`` times, with the recorded answers in another order each time.
    """

    label: str
    technique: str
    params: Mapping[str, Json] = field(default_factory=dict)
    model: str = ""
    channels: tuple[str, ...] = ()
    calibrated: bool = False
    temperature: float | None = None
    repeats: int = 1


@dataclass
class Tally:
    """What came of one arm: for each question the means over its repeats, in order.

    ``outcomes`` are whether each of its repeats was right.
    """

    outcomes: list[list[bool]] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)
    tokens: list[float] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    warnings: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    replayed: int = 0
    played: int = 0
    again: int = 0

    @property
    def repeats(self) -> int:
        """How often each question was asked."""
        return len(self.outcomes[0]) if self.outcomes else 1

    @property
    def right(self) -> list[float]:
        """The share of right answers to each question."""
        return self.first(self.repeats)

    def first(self, repeats: int) -> list[float]:
        """Return the share of right answers to each question the first so many times."""
        return [sum(right[:repeats]) / len(right[:repeats]) for right in self.outcomes]

    def against(self, other: Tally) -> Estimate:
        """Return by how much it is right more often than *other*, in the same orders."""
        both = min(self.repeats, other.repeats)
        return difference(self.first(both), other.first(both))

    def add(self, got: Sequence[Given], right: Callable[[Given], bool]) -> None:
        """Take in all repeats of one question; a failure counts as a wrong answer."""
        count = len(got)
        self.outcomes.append([not one.failure and right(one) for one in got])
        for name in ("calls", "tokens", "cost", "seconds"):
            getattr(self, name).append(sum(getattr(one, name) for one in got) / count)
        for one in got:
            self.warnings.update(one.warnings)
            if one.failure:
                self.failures[one.failure] += 1

    @property
    def seconds_p50(self) -> float:
        """The median of the times to an answer."""
        return median(self.seconds) if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of all arms on one set; its questions stand in the order they were asked in."""

    recorded: RecordedSet
    tallies: Mapping[str, Tally]


async def run(recorded: RecordedSet, arms: Sequence[Arm], *, terms: Terms) -> Ran:
    """Ask every question of *recorded* under each of *arms*.

    Where an arm wants the models calibrated, each half of the questions is asked with what was
    measured on the other half, and the arms that do not want it see the same questions.
    """
    tallies: dict[str, Tally] = defaultdict(Tally)
    folds = _halves(recorded) if any(arm.calibrated for arm in arms) else [(recorded, None)]
    for asked, other in folds:
        with TemporaryDirectory() as where:
            await _fold(asked, other, arms, _Bench(tallies, terms, Path(where)))
    questions = tuple(question for part, _ in folds for question in part.questions)
    return Ran(replace(recorded, questions=questions), tallies)


@dataclass(frozen=True, slots=True)
class _Bench:
    tallies: dict[str, Tally]
    terms: Terms
    where: Path


async def _fold(
    asked: RecordedSet, other: RecordedSet | None, arms: Sequence[Arm], bench: _Bench
) -> None:
    measured = None
    if other is not None:
        async with served(Replay(other, bench.terms)) as port:
            measure = partial(calibrated, other, port, bench.where, judged=_wants_judge(arms))
            measured = await asyncio.to_thread(measure)
    for known in (None, measured) if measured else (None,):
        chosen = [arm for arm in arms if arm.calibrated == (known is not None)]
        if chosen:
            replay = Replay(asked, bench.terms)
            async with _gateway(replay, known, bench.where) as client:
                for arm in chosen:
                    await _arm(replay, client, arm, bench)


@asynccontextmanager
async def _gateway(
    replay: Replay, measured: Path | None, where: Path
) -> AsyncGenerator[Client, None]:
    async with served(replay) as port:
        gateway = start_gateway(replay.recorded, port, where, measured)
        try:
            await asyncio.to_thread(wait, gateway, replay.recorded.models[0].name)
            async with aiohttp.ClientSession() as session:
                yield Client(gateway.port, session)
        finally:
            await asyncio.to_thread(gateway.stop)


async def _arm(replay: Replay, client: Client, arm: Arm, bench: _Bench) -> None:
    tally = bench.tallies[arm.label]
    before = replay.replayed, sum(replay.played.values()), replay.again
    limiter = asyncio.Semaphore(_AT_ONCE)

    async def one(question: Question) -> list[Given]:
        async with limiter:
            got = []
            for repeat in range(arm.repeats):
                replay.begin(question, repeat)
                answer = await client.ask(_body(replay, arm, question), headers(arm))
                got.append(replace(answer, seconds=replay.elapsed(question)))
            return got

    questions = replay.recorded.questions
    outcomes = await asyncio.gather(*(one(question) for question in questions))  # noqa: TID251
    for question, got in zip(questions, outcomes, strict=True):
        tally.add(got, partial(_is_right, question))
    tally.replayed += replay.replayed - before[0]
    tally.played += sum(replay.played.values()) - before[1]
    tally.again += replay.again - before[2]
    sys.stderr.write(f"{replay.recorded.name}: {arm.label}, {len(questions)} questions\n")


def _wants_judge(arms: Sequence[Arm]) -> bool:
    cards = load(catalog)
    named = {arm.technique for arm in arms if arm.calibrated}
    return any("judge" in cards[name].traits.needs for name in named)


def _body(replay: Replay, arm: Arm, question: Question) -> JsonObject:
    body: JsonObject = {
        "model": arm.model or replay.recorded.models[0].name,
        "messages": [{"role": "user", "content": question.prompt}],
    }
    if arm.temperature is not None:
        body["temperature"] = arm.temperature
    if question.tool is not None:
        body["tools"] = [question.tool]
    return body


def headers(arm: Arm) -> dict[str, str]:
    """Return the headers that ask for *arm*."""
    asked = {"x-lockgate-technique": arm.technique, "x-lockgate-max-calls": "64"}
    if arm.params:
        asked["x-lockgate-params"] = orjson.dumps(dict(arm.params)).decode()
    if arm.channels:
        asked["x-lockgate-channels"] = ",".join(arm.channels)
    return asked


def _is_right(question: Question, got: Given) -> bool:
    """Tell whether *got* is right; of a tool call the argument stands for it."""
    acts = question.tool is not None and got.text.startswith("{")
    return is_right(question, str(orjson.loads(got.text).get("call")) if acts else got.text)


def _halves(recorded: RecordedSet) -> list[tuple[RecordedSet, RecordedSet]]:
    """Return each half of the questions with the other half."""
    parts = [replace(recorded, questions=recorded.questions[at::2]) for at in (0, 1)]
    return [(parts[0], parts[1]), (parts[1], parts[0])]


def majority(samples: Sequence[str | None]) -> str | None:
    """Return the most frequent of *samples*; of those as frequent the one that came first."""
    counts = Counter(one for one in samples if one is not None)
    if not counts:
        return None
    most = max(counts.values())
    return next(one for one in samples if one is not None and counts[one] == most)


def plain_majority(recorded: RecordedSet, terms: Terms, most: int, repeats: int = 1) -> list[float]:
    """Return what a vote of exactly *most* draws of one model has right, question by question.

    Of the same draws in the same order as the techniques got, but counted here.
    """
    replay, model = Replay(recorded, terms), recorded.models[0].name
    found = []
    for question in recorded.questions:
        rights = [
            majority([one.answer for one in replay.order(question, model, at)[:most]])
            in question.golds
            for at in range(repeats)
        ]
        found.append(sum(rights) / repeats)
    return found
