"""The upstream: draws are recorded answers of real models, every other role is a simulation.

A call whose last turn begins with a recorded question is a draw; it gets the next recorded answer
of the model that is asked, in an order that a seed decides and that every technique gets alike.
What else techniques ask (verdicts, critiques, rewritings, combinations) was not recorded and is
played by ``gateway.upstream.simulated``, which here knows the right answer and errs at a stated
rate. What was replayed and what was played is counted.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from random import Random  # noqa: TID251 - always with a seed
from typing import Final

import orjson
from aiohttp import web

from bench.quality.recorded import Question, RecordedSet, Sample, shown
from gateway.upstream.simulated import solving, wording
from gateway.upstream.simulated.answering import draft
from gateway.upstream.simulated.asked import Asked, Refused, read
from gateway.upstream.simulated.dice import Dice
from gateway.upstream.simulated.pieces import CallMade, Draft, ended, split
from gateway.upstream.simulated.problem import Problem
from gateway.upstream.simulated.settings import MODELS, SimulatedModel
from techniques.core.json import Json, JsonObject
from techniques.core.request import Request, said
from techniques.parts.answers import expect
from techniques.parts.markers import CUE_LABEL

JUDGE: Final = "judge"
CRITIC: Final = "critic"
_TOKENS: Final = 100
"""Length of an answer where it was not recorded."""
CALL_S: Final = 1.0
"""How long a call takes where its time was not recorded."""
_FENCE: Final = "<<"
_WRONG: Final = 6


@dataclass(frozen=True, slots=True)
class Terms:
    """How to replay.

    Attributes:
        judge_error: Share of simulated verdicts and critiques that are wrong.
        pace: How many times faster than stated calls are answered.
        seed: Decides the order of the recorded answers.
    """

    judge_error: float = 0.2
    pace: float = 30.0
    seed: int = 0


@dataclass(slots=True)
class _Run:
    """One question being asked under one technique.

    ``clock`` is how long that took so far in stated time, whatever this machine makes of it: a call
    begins when the last call before it ended.
    """

    repeat: int = 0
    drawn: Counter[str] = field(default_factory=Counter)
    clock: float = 0.0


@dataclass(frozen=True, slots=True)
class Answered:
    """What a call gets: the body, and how many seconds it takes in stated time, in which run."""

    body: JsonObject
    seconds: float
    run: _Run


@dataclass
class Replay:
    """One set, replayed.

    Attributes:
        replayed: How many calls got a recorded answer.
        played: How many were played by the simulation, by model.
        again: How many draws came after the last recorded answer, and got the first ones again.
    """

    recorded: RecordedSet
    terms: Terms = field(default_factory=Terms)
    replayed: int = 0
    played: Counter[str] = field(default_factory=Counter)
    again: int = 0

    def __post_init__(self) -> None:
        self._questions = {one.prompt: one for one in self.recorded.questions}
        self._runs: defaultdict[str, _Run] = defaultdict(_Run)
        self._problems: dict[str, Problem] = {}
        self._rates = {m.name: 1 - self.recorded.accuracy(m.name) for m in self.recorded.models}

    def begin(self, question: Question, repeat: int = 0) -> None:
        """Start *question* anew; *repeat* decides in which order its answers come."""
        self._runs[question.id] = _Run(repeat)

    def elapsed(self, question: Question) -> float:
        """Return how long *question* has taken since it was begun, in stated seconds."""
        return self._runs[question.id].clock

    def order(self, question: Question, model: str, repeat: int) -> list[Sample]:
        """Return the recorded answers of *model* in the order in which they come."""
        samples = list(question.samples[model])
        Random(f"{self.terms.seed}/{question.id}/{model}/{repeat}").shuffle(samples)
        return samples

    def answer(self, raw: bytes) -> Answered:
        """Return what answers *raw*.

        Raises:
            Refused: It is no valid call, or one that the replay has nothing for.
        """
        asked = read(raw)
        if asked.streamed:
            raise Refused(400, "The replay does not stream.")
        question = self._question(asked.last_user)
        run = self._runs[question.id] if question else _Run()
        if question and self._is_draw(asked, question) and asked.model in question.samples:
            self.replayed += 1
            sample = self._next(asked, question, run)
            body = self._recorded(asked, question, sample)
            return Answered(body, sample.seconds or CALL_S, run)
        self.played[asked.model] += 1
        return Answered(self._simulated(asked), CALL_S, run)

    def _question(self, text: str) -> Question | None:
        """Return the recorded question in *text*; the longest, where one is a part of another."""
        whole = self._questions.get(text)
        if whole is not None:
            return whole
        found = (prompt for prompt in self._questions if prompt in text)
        longest = max(found, key=len, default=None)
        return None if longest is None else self._questions[longest]

    def _is_draw(self, asked: Asked, question: Question) -> bool:
        last = asked.last_user
        return last.lstrip().startswith(question.prompt) and _FENCE not in last

    def _next(self, asked: Asked, question: Question, run: _Run) -> Sample:
        greedy = question.greedy.get(asked.model)
        if greedy is not None and asked.temperature == 0:
            return greedy
        place = run.drawn[asked.model]
        run.drawn[asked.model] += 1
        order = self.order(question, asked.model, run.repeat)
        self.again += place >= len(order)
        return order[place % len(order)]

    def _recorded(self, asked: Asked, question: Question, sample: Sample) -> JsonObject:
        made = _called(sample) if question.tool else Draft(_marked(shown(sample), asked, sample))
        body = self._worded(asked, ended(made, asked.stops, None))
        tokens, read = sample.tokens or _TOKENS, sample.read or body["usage"]["prompt_tokens"]
        body["usage"] |= {
            "prompt_tokens": read,
            "completion_tokens": tokens,
            "total_tokens": read + tokens,
        }
        if sample.logprob is not None and asked.top_logprobs is not None:
            body["choices"][0]["logprobs"] = _logprobs(made.text or "", sample.logprob)
        return body

    def _simulated(self, asked: Asked) -> JsonObject:
        model = SimulatedModel(
            error_rate=self._rates.get(asked.model, 0.2),
            judge_error_rate=self.terms.judge_error,
            price=MODELS["sim-small"].price,
        )
        taught = solving.taught.set(self._problem)
        try:
            made = draft(asked, model, self._dice(asked))
        finally:
            solving.taught.reset(taught)
        return self._worded(asked, ended(made, asked.stops, asked.max_tokens))

    def _problem(self, text: str) -> Problem | None:
        question = self._question(text)
        if question is None:
            return None
        known = self._problems.get(question.id)
        if known is None:
            known = self._problems[question.id] = problem_of(question)
        return known

    def _worded(self, asked: Asked, made: Draft) -> JsonObject:
        answer = wording.Answer(asked, (made,), self._dice(asked), 0)
        body: JsonObject = orjson.loads(wording.whole(answer))
        return body

    def _dice(self, asked: Asked) -> Dice:
        return Dice(self.terms.seed, asked.model, asked.digest, asked.seed)


def problem_of(question: Question) -> Problem:
    """Return *question* as the simulation knows problems: wrong answers are those that were given.

    The likeliest wrong answer comes first.
    """
    kind = expect(Request("", (said("user", question.prompt),))).text
    given = Counter(
        sample.answer
        for samples in question.samples.values()
        for sample in samples
        if sample.answer is not None and not sample.right
    )
    wrong = tuple(_cased(answer) for answer, _ in given.most_common(_WRONG))
    return Problem(
        kind if kind in {"number", "letter", "short", "yes_no"} else "prose",
        question.prompt,
        _cased(question.gold),
        wrong or ("0" if question.gold != "0" else "1",),
        "What is asked is worked out from what is given.",
    )


def application(replay: Replay) -> web.Application:
    """Return the HTTP application that serves *replay*."""

    async def complete(request: web.Request) -> web.Response:
        try:
            answered = replay.answer(await request.read())
        except Refused as refused:
            return web.Response(
                status=refused.status, body=wording.failure(refused), content_type=_JSON
            )
        run, began = answered.run, answered.run.clock
        await asyncio.sleep(answered.seconds / replay.terms.pace)  # noqa: TID251 - in real time
        run.clock = max(run.clock, began + answered.seconds)
        return web.Response(body=orjson.dumps(answered.body), content_type=_JSON)

    served = web.Application(client_max_size=2**24)
    served.router.add_post("/v1/chat/completions", complete)
    return served


_JSON: Final = "application/json"


def _cased(answer: str) -> str:
    return answer.upper() if len(answer) == 1 else answer


def _marked(text: str, asked: Asked, sample: Sample) -> str:
    """Return *text* with the last line that the question asks for, where the answer is known."""
    if CUE_LABEL not in asked.last_user or sample.answer is None:
        return text
    return f"{text}\n\n{CUE_LABEL} {_cased(sample.answer)}"


def _called(sample: Sample) -> Draft:
    arguments = orjson.dumps({"call": sample.answer}).decode()
    return Draft(None, (CallMade("call_0", "act", arguments),), "tool_calls")


def _logprobs(text: str, mean: float) -> Json:
    """Return *text* as tokens that all have the recorded mean log-probability."""
    pieces = split(text) or [""]
    return {"content": [{"token": piece, "logprob": mean} for piece in pieces], "refusal": None}
