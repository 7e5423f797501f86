"""A question, models that follow a script, and a way to run a technique over them."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from random import Random

from pydantic import BaseModel

from techniques.core.capabilities import Capabilities
from techniques.core.channel import Channels, Member, Technique, TechniqueChannel
from techniques.core.errors import GatewayError
from techniques.core.events import Event, Note, Provisional, Warned
from techniques.core.json import Json
from techniques.core.registry import Card
from techniques.core.reply import Reply, fold, replied
from techniques.core.request import Request, Text, ToolCall, said
from techniques.core.task import Calibration, Sandbox, Task, Uncalibrated, Unlimited
from techniques.parts.judge import CHECKLIST
from techniques.testing import Line, ScriptedChannel

Answer = str | Reply | GatewayError | Line


@dataclass
class Cap:
    """Leaves *most* calls over all of *channel*."""

    channel: ScriptedChannel
    most: int

    def affordable(self, calls: int) -> int:
        return max(0, min(calls, self.most - len(self.channel.asked)))


@dataclass
class Played:
    """What came of a run: its events, and the reply they spell."""

    events: list[Event]
    reply: Reply
    asked: list[Request] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.reply.text

    @property
    def warnings(self) -> dict[str, str]:
        return {event.code: event.detail for event in self.events if isinstance(event, Warned)}

    def note(self, topic: str) -> dict[str, Json]:
        found = [event for event in self.events if isinstance(event, Note) and event.topic == topic]
        return dict(found[-1].data)

    @property
    def early(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Provisional)]

    def roles(self) -> list[str]:
        return [request.role for request in self.asked]


def asks(text: str = "What is 6 * 7?", **changes: Json) -> Request:
    return replace(Request("m", (said("user", text),)), **changes)


def scripted(answer: Callable[[Request], Answer]) -> ScriptedChannel:
    return ScriptedChannel(lambda request: line(answer(request)))


def line(answer: Answer) -> Line:
    if isinstance(answer, Line):
        return answer
    return Line(replied(answer) if isinstance(answer, str) else answer)


def draws(
    answers: Iterable[Answer], others: Callable[[Request], Answer] | None = None
) -> ScriptedChannel:
    """Answer candidate ``c<i>`` with the i-th of *answers*, everything else as *others* says."""
    by_step = {f"c{place}": answer for place, answer in enumerate(answers)}
    return scripted(
        lambda request: (
            by_step[request.step] if request.step in by_step else (others or sensible)(request)
        )
    )


def channels(
    channel: ScriptedChannel, *, pool: int = 1, abilities: Capabilities | None = None
) -> Channels:
    members = tuple(
        Member(f"m{place}", f"model-{place}", channel, abilities or Capabilities())
        for place in range(pool)
    )
    return Channels(members[0], members)


@dataclass(frozen=True)
class Measured(Uncalibrated):
    """A calibration by which every answer ranks so among those of its model."""

    share: float

    def rank(self, model: str, sureness: float) -> float | None:
        return self.share


def with_judge(channel: ScriptedChannel) -> Channels:
    return replace(channels(channel), judge=Member("j", "judge", channel))


@dataclass(frozen=True)
class Setting:
    """What a run has beside its request and models."""

    options: BaseModel
    seed: int = 7
    cap: Cap | None = None
    deadline: float | None = None
    sandbox: Sandbox | None = None
    calibration: Calibration = field(default_factory=Uncalibrated)
    techniques: Mapping[str, Mapping[str, Json]] | None = None


async def play(
    technique: Technique, models: Channels, request: Request, setting: Setting
) -> Played:
    task = Task(
        request,
        setting.options,
        Random(setting.seed),
        setting.cap or Unlimited(),
        setting.deadline,
        sandbox=setting.sandbox,
        calibration=setting.calibration,
        techniques=setting.techniques,
    )
    async with TechniqueChannel(technique, task, models).open(request) as stream:
        events = [event async for event in stream]
    channel = models.primary.channel
    assert isinstance(channel, ScriptedChannel)
    assert channel.open_calls == 0
    return Played(events, await fold(each(events)), channel.asked)


async def each(events: Iterable[Event]) -> AsyncIterator[Event]:
    for event in events:
        yield event


def shown(request: Request) -> str:
    """All text that *request* puts before the model."""
    return "\n".join(turn.text for turn in request.messages)


def marks(*wrong: str, skipped: Iterable[str] = ()) -> str:
    """A judge's filled checklist with 0 for *wrong* and null for *skipped*."""
    filled: dict[str, Json] = {name: int(name not in wrong) for name in CHECKLIST}
    return json.dumps({**filled, **dict.fromkeys(skipped), "evidence": {}})


def prefers(winner: str) -> str:
    return json.dumps({"winner": winner, "reason": "It is right."})


def picks(number: int) -> str:
    return json.dumps({"reason": "It is right.", "best": number})


def judging(by_answer: dict[str, Answer], winner: str = "tie") -> Callable[[Request], Answer]:
    """Judge each answer as *by_answer* says by its text, and pairs by *winner*'s text.

    What stands for the text "" goes for all that are not named before it.
    """

    def judge(request: Request) -> Answer:
        assert request.role == "judge"
        text = shown(request)
        if "answer 2>>" in text:
            first, second = (f"answer {place}>>\n{winner}\n" in text for place in (1, 2))
            return prefers("1" if first else "2" if second else "tie")
        return next(
            said
            for answer, said in by_answer.items()
            if not answer or f"answer>>\n{answer}\n" in text
        )

    return judge


def faults(*issues: dict[str, str], decision: str = "continue") -> str:
    return json.dumps({"decision": decision, "issues": list(issues)})


def fault(quote: str, fix: str, kind: str = "wrong", severity: str = "major") -> dict[str, str]:
    return {"quote": quote, "fix": fix, "kind": kind, "severity": severity}


def calls(name: str, arguments: str, id: str = "call_1") -> Reply:
    return Reply((ToolCall(id, name, arguments),), "tool_calls")


def tokens(*told: str | float) -> Reply:
    """A reply of tokens, each followed by its probability."""
    pairs = list(zip(told[::2], told[1::2], strict=True))
    listed: Json = [{"token": str(text), "logprob": math.log(float(p))} for text, p in pairs]
    return replace(replied("".join(str(text) for text, _ in pairs)), logprobs={"content": listed})


def needed(card: Card) -> dict[str, Json]:
    """The options that *card* must be given, as its examples have them."""
    fields = card.options.model_fields.items()
    return {name: (field.examples or [None])[0] for name, field in fields if field.is_required()}


def usual(card: Card) -> BaseModel:
    """The options of *card*, as they are where nothing more is said than must be."""
    return card.options.model_validate(needed(card))


def parts_text(reply: Reply) -> list[str]:
    return [part.text for part in reply.parts if isinstance(part, Text)]


CLAIM = {
    "claim": "the result is 42",
    "fact": 1,
    "verdict": "contradicted",
    "correction": "the result of the two is 42",
}


def sensible(request: Request) -> Answer:
    """A fair answer in the form that each role asks for."""
    said_so: dict[str, Answer] = {
        "judge": verdict(request),
        "critique": faults(fault("", f"Say more about {request.step}.", "missing")),
        "voter": json.dumps({"labels": [1, 1]}),
        "plan": json.dumps(
            {
                "questions": ["How much is 6 * 7?", "How much is 7 * 6?"],
                "ideas": ["Sort them.", "Count them.", "Ask around."],
            }
        ),
        "verification": json.dumps({"known": True, "answer": "The result is 42."}),
        "crosscheck": json.dumps({"claims": [CLAIM]}),
        "rating": json.dumps({"difficulty": 0.4}),
        "refine": f"The result after all, {request.step}: 42",
    }
    plain = f"Worked out by {request.step}, the result is 42.\n\nFinal answer: 42"
    return said_so.get(request.role, plain)


def verdict(request: Request) -> str:
    """A fair verdict in the form that a judge is asked for."""
    text = shown(request)
    if '"best":' in text:
        return picks(1)
    return prefers("tie") if "answer 2>>" in text else marks("n06", "n07", "n08")
