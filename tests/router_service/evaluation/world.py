"""Callers and judges that follow a script."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import anyio

from router_service.evaluation.configurations import Configuration, configuration
from router_service.evaluation.grading import Grader, Question, rules_of
from router_service.evaluation.prompts import read_prompts
from router_service.evaluation.records import AnswerRow
from router_service.evaluation.running import Contestant, Plan
from techniques.core.channel import Member
from techniques.core.json import JsonObject
from techniques.core.request import Message, Request, Text
from techniques.core.task import Sandbox
from techniques.parts.code_scoring import Runner
from techniques.parts.judge import CHECKLIST
from techniques.parts.reference import COMPARED
from techniques.parts.scoring import Strategy
from techniques.testing import ScriptedChannel

Say = Callable[[Question, int], JsonObject | str]


def stated(name: str, model: str = "m") -> Configuration:
    """Return a configuration of that name."""
    return configuration(
        f"{name}=http://127.0.0.1:9/v1 model={model} headers.x-name={name}",
        lambda _: None,
        json.loads,
    )


def questions(*rows: JsonObject, strategy: Strategy = "exact") -> list[Question]:
    """Return the questions that *rows* of a file of prompts are."""
    found = []
    for prompt in read_prompts("\n".join(map(json.dumps, rows))).usable:
        text = prompt.messages[-1]["content"]
        request = Request("m", (Message("user", (Text(text),)),))
        found.append(Question(prompt, request, rules_of(prompt, request, strategy)))
    return found


def sums(count: int, **more: object) -> list[JsonObject]:
    """Return *count* questions for sums, of which the right answers are known."""
    return [
        {"id": f"q{n}", "prompt": f"{n} + 1?", "reference": n + 1, "score_mode": "numeric", **more}
        for n in range(count)
    ]


def grader(
    strategy: Strategy = "exact", judge: ScriptedChannel | None = None, box: Sandbox | None = None
) -> Grader:
    """Return a grader."""
    member = None if judge is None else Member("judge", "judge-model", judge)
    return Grader(strategy, Runner(box, "token"), member, "judge-model", "j")


def marks(mark: int = 1, *, compared: bool = False) -> str:
    """Return a checklist with that *mark* everywhere."""
    names = COMPARED.questions if compared else CHECKLIST
    return json.dumps(dict.fromkeys(names, mark))


def row(question: Question, name: str = "a", repeat: int = 0, **told: object) -> AnswerRow:
    """Return what came of *question*."""
    return AnswerRow.model_validate(
        {
            "config_hash": stated(name).hash,
            "prompt_hash": question.prompt.hash,
            "repeat": repeat,
            "config": name,
            "prompt": question.prompt.id,
            "latency_ms": 100.0,
            **told,
        }
    )


@dataclass
class FakeCaller:
    """Answers as *say* has it, after some time, and remembers what it was asked."""

    name: str
    say: Say
    log: list[str] = field(default_factory=list)
    takes_s: float = 1.0
    busy: int = 0
    most_busy: int = 0

    async def answer(self, question: Question, repeat: int) -> AnswerRow:
        """Return what came of it."""
        self.log.append(f"{question.prompt.id}/{repeat}/{self.name}")
        self.busy += 1
        self.most_busy = max(self.most_busy, self.busy)
        await anyio.sleep(self.takes_s)
        self.busy -= 1
        said = self.say(question, repeat)
        told = {"text": said} if isinstance(said, str) else said
        return row(question, self.name, repeat, **told)


def right(question: Question, repeat: int) -> str:
    """Return the right answer."""
    del repeat
    return f"The answer is {question.prompt.reference}."


def wrong(question: Question, repeat: int) -> str:
    """Return a wrong answer."""
    del question, repeat
    return "The answer is -5."


def plan(says: dict[str, Say], asked: Sequence[Question], **more: object) -> Plan:
    """Return a plan to ask *asked* of callers, all of which write into one log."""
    log: list[str] = []
    told = {"grader": grader(), **more}
    return Plan(
        [Contestant(stated(name), FakeCaller(name, say, log)) for name, say in says.items()],
        asked,
        **told,  # type: ignore[arg-type]
    )


def log_of(one: Plan) -> list[str]:
    """Return what the callers of *one* were asked, in order."""
    caller = one.contestants[0].caller
    assert isinstance(caller, FakeCaller)
    return caller.log
