"""Calibrated techniques of several models without the gateway around them, in many orders."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random  # noqa: TID251 - always with a seed
from statistics import fmean
from typing import Final

import anyio
import orjson

from bench.quality.recorded import Question, RecordedSet, is_right
from bench.quality.replay import CRITIC, JUDGE, Replay, Terms
from bench.quality.running import Arm
from bench.quality.statistics import Estimate, mean
from gateway.calibrate import Question as Asked
from gateway.calibrate import calibration, marked, unjudged
from gateway.config.calibration import Measured
from techniques import catalog
from techniques.core.channel import Channels, Member, TechniqueChannel
from techniques.core.json import JsonObject
from techniques.core.registry import Card, load
from techniques.core.reply import Reply, fold
from techniques.core.request import Request, said
from techniques.core.task import Task
from techniques.parts.aside import Aside
from techniques.parts.judge import read_score, verdict_request
from techniques.parts.transcript import Fence
from techniques.testing import ScriptedChannel

_CARDS: Final[Mapping[str, Card]] = {card.name: card for card in load(catalog).values()}


@dataclass(frozen=True, slots=True)
class Pooled:
    """By how much a technique is right more often than the best member, and its calls."""

    gained: Estimate
    calls: float


def pooled(recorded: RecordedSet, arms: Sequence[Arm], orders: int) -> dict[str, Pooled]:
    """Ask all questions of *recorded* under each of *arms*, *orders* times each.

    Each half of them with what was measured on the other half, anew in each order.
    """
    return anyio.run(_pooled, recorded, arms, orders)


async def _pooled(recorded: RecordedSet, arms: Sequence[Arm], orders: int) -> dict[str, Pooled]:
    gains: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    calls: dict[str, list[int]] = defaultdict(list)
    judged = any("judge" in _CARDS[arm.technique].traits.needs for arm in arms)
    for order in range(orders):
        for at in (0, 1):
            asked, other = (
                replace(recorded, questions=recorded.questions[half::2]) for half in (at, 1 - at)
            )
            table = _Table(Replay(asked), order, await _measured(other, order, judged=judged))
            for question in asked.questions:
                for arm in arms:
                    gained, made = await table.gained(arm, question)
                    gains[arm.label][question.id].append(gained)
                    calls[arm.label].append(made)
    return {
        label: Pooled(mean([fmean(one) for one in by.values()]), fmean(calls[label]))
        for label, by in gains.items()
    }


@dataclass(frozen=True, slots=True)
class _Table:
    """Half of the questions, the order of their answers, and what is known of the models."""

    replay: Replay
    order: int
    known: Measured

    async def gained(self, arm: Arm, question: Question) -> tuple[float, int]:
        """Return whether *arm* is right less whether its best model is alone, and its calls."""
        alone = self.replay.order(question, arm.model, self.order)[0].right
        self.replay.begin(question, self.order)
        channel, card = _channel(self.replay), _CARDS[arm.technique]
        pool = tuple(_member(name, channel) for name in (arm.model, *arm.channels))
        dice = Random(f"{self.order}/{question.id}")
        task = Task(
            Request(arm.model, (said("user", question.prompt),)),
            card.options.model_validate(dict(arm.params)),
            dice,
            calibration=self.known,
            fence=dice.randbytes(6).hex(),
        )
        roles = {"judge": _member(JUDGE, channel), "critic": _member(CRITIC, channel)}
        technique = TechniqueChannel(card.run, task, Channels(pool[0], pool, **roles))
        async with technique.open(task.request) as events:
            reply = await fold(events)
        return float(is_right(question, reply.text)) - alone, len(channel.asked)


async def _measured(recorded: RecordedSet, order: int, *, judged: bool) -> Measured:
    """Measure the models of *recorded*, and the judge, as ``lockgate calibrate`` does."""
    replay = Replay(recorded, Terms(seed=order))
    channel, dice = _channel(replay), Random(order)

    async def ask(model: str, asked: Asked) -> tuple[Request, Reply]:
        request = Request(model, (said("user", str(asked.messages[0])),))
        async with channel.open(request) as events:
            return request, await fold(events)

    judge = partial(_score, _member(JUDGE, channel), dice) if judged else unjudged
    names = [model.name for model in recorded.models]
    questions = [Asked([one.prompt], one.gold) for one in recorded.questions]
    marks = await marked(ask, names, questions, judge=judge, width=1)
    file = calibration(marks, "", JUDGE if judged else None)
    return Measured(file.models, file.judges)


async def _score(judge: Member, dice: Random, request: Request, reply: Reply) -> float | None:
    aside = Aside(request, judge, Fence(dice.randbytes(6).hex()), "j0")
    async with judge.open(verdict_request(aside, reply)) as events:
        return read_score((await fold(events)).text)


def _member(name: str, channel: ScriptedChannel) -> Member:
    return Member(name, name, channel, name=name)


def _channel(replay: Replay) -> ScriptedChannel:
    """Return a channel that *replay* answers."""

    def answered(request: Request) -> str:
        body: JsonObject = {
            "model": request.model,
            "messages": [{"role": turn.role, "content": turn.text} for turn in request.messages],
        }
        wanted = request.response_format
        if wanted is not None and wanted.schema is not None:
            shape = {"name": "wanted", "schema": wanted.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        made = replay.answer(orjson.dumps(body)).body
        return str(made["choices"][0]["message"]["content"] or "")

    return ScriptedChannel(answered)
