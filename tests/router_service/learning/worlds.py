"""Answers that came, scored and timed: as a trace, and as a model that gives just these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import anyio
from pydantic import BaseModel

from router_service.learning.trace import Sample, Spent, Trace
from techniques.core.reply import Reply, replied
from techniques.core.request import Request, Tool
from techniques.parts.answers import expect
from techniques.parts.candidates import Candidate
from techniques.parts.keys import key_of
from techniques.parts.refusals import refuses
from techniques.phases.evidence import SourceName
from techniques.testing import Line
from tests.techniques.scene import (
    Answer,
    Played,
    Setting,
    asks,
    calls,
    play,
    prefers,
    scripted,
    with_judge,
)

REQUESTS = {
    "number": asks("What is 6 * 7?"),
    "letter": asks("Which is red? A) blood B) grass C) snow D) coal"),
    "tool": asks("Look it up.", tools=(Tool("look"), Tool("find"))),
    "prose": asks("Explain why the sea is salty."),
}
REFUSAL = "I'm sorry, but I can't help with that."


@dataclass
class World:
    """One request, and all that would be answered to it."""

    request: Request
    trace: Trace

    async def run(self, technique: Callable[..., Any], options: BaseModel) -> tuple[Played, float]:
        """Run the real *technique* and return what it did and the milliseconds it took."""
        channel = scripted(self._answer)
        began = anyio.current_time()
        played = await play(technique, with_judge(channel), self.request, Setting(options))
        return played, 1000 * (anyio.current_time() - began)

    def place(self, reply: Reply) -> int:
        """Return which sample *reply* is, by what it says."""
        found = [
            one.candidate.place for one in self.trace.samples if _same(one.candidate.reply, reply)
        ]
        return found[0]

    def _answer(self, request: Request) -> Answer:
        kind, place = request.step[0], request.step[1:]
        if kind == "c":
            sample = self.trace.samples[int(place)]
            return Line(sample.candidate.reply, sample.drawn.ms / 1000)
        if kind == "j":
            sample = self.trace.samples[int(place)]
            return Line(replied(f"{10 * (sample.score or 0)}/10"), sample.judged.ms / 1000)
        assert kind == "p"
        return Line(replied(prefers("tie")), self.trace.compared.ms / 1000)


def world(seed: int, kind: str, size: int = 5, *, refusals: float = 0.0) -> World:
    """A world of that *kind*; each answer is worth its place, so one sees which was taken."""
    random, request = Random(seed), REQUESTS[kind]
    expected = expect(request)
    samples = []
    for place in range(size):
        reply = _reply(random, kind, place)
        if random.random() < refusals:
            reply = replied(f"{REFUSAL} ({place})")
        refusal = refuses(reply)
        key = None if refusal else key_of(reply, expected)
        candidate = Candidate(place, reply, key, refusal=refusal)
        samples.append(_sample(random, candidate))
    compared = Spent(0.003, 250.0)
    sure_by: SourceName = "response_probability"
    return World(request, Trace(expected, tuple(samples), sure_by=sure_by, compared=compared))


def graded(trace: Trace, values: dict[str, float]) -> Trace:
    """Return *trace* with each sample worth what *values* say of its key."""
    samples = (replace(one, value=values[one.candidate.key or ""]) for one in trace.samples)
    return replace(trace, samples=tuple(samples))


def _sample(random: Random, candidate: Candidate) -> Sample:
    return Sample(
        candidate,
        Spent(round(random.uniform(0.001, 0.01), 4), random.randint(1, 999)),
        candidate.place / 10,
        None if candidate.refusal else random.choice([0.3, 0.52, 0.6, 0.64, 0.7, 0.75, 0.8, 0.93]),
        Spent(0.002, random.randint(1, 99)),
        random.uniform(0.5, 0.99),
    )


def _reply(random: Random, kind: str, place: int) -> Reply:
    if kind == "tool":
        name = random.choice(["look", "look", "find"])
        said = replied(f"I would not look ({place}).")
        return said if random.random() < 0.3 else _call(name, random.choice("112"), place)
    if kind == "letter":
        return replied(f"By way {place}.\n\nFinal answer: {random.choice('AABC')}")
    if kind == "number":
        return replied(f"By way {place}.\n\nFinal answer: {random.choice([42, 42, 41, 7])}")
    reason = random.choice(["rivers", "rocks"])
    return replied(
        f"It is salty since {reason} {place} bring it salt.\nAnd so it has been for long."
    )


def _call(name: str, argument: str, place: int) -> Reply:
    return calls(name, f'{{"at": {argument}}}', f"call_{place}")


def _same(one: Reply, other: Reply) -> bool:
    if one.tool_calls or other.tool_calls:
        return one.tool_calls == other.tool_calls
    return one.text.split("\n")[0] == other.text.split("\n")[0]
