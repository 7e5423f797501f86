"""Votes without the gateway around them: so many orders of the draws that chance evens out."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random  # noqa: TID251 - always with a seed
from statistics import fmean

import anyio

from bench.quality.recorded import Question, RecordedSet, Sample, is_right, shown
from bench.quality.replay import Replay, Terms
from bench.quality.running import majority
from bench.quality.statistics import Estimate, mean
from techniques.catalog.self_consistency import Options, self_consistency
from techniques.core.channel import Channels, Member, TechniqueChannel
from techniques.core.reply import fold
from techniques.core.request import Request, said
from techniques.core.task import Task
from techniques.testing import ScriptedChannel


@dataclass(frozen=True, slots=True)
class Paired:
    """A vote against the plain majority of the same draws in the same orders.

    ``saved`` is the share of the samples that it did without, per cent.
    """

    gained: Estimate
    saved: float


def paired(recorded: RecordedSet, options: Options, orders: int) -> Paired:
    """Vote on all questions of *recorded*, *orders* times each, the technique itself as it is."""
    return anyio.run(_paired, recorded, options, orders)


async def _paired(recorded: RecordedSet, options: Options, orders: int) -> Paired:
    replay, model = Replay(recorded, Terms()), recorded.models[0].name
    gains, calls = [], []
    for question in recorded.questions:
        by_order = []
        for order in range(orders):
            samples = replay.order(question, model, order)
            right, asked = await _voted(question, samples, options, order)
            plain = majority([one.answer for one in samples[: options.num_samples]])
            by_order.append(right - (plain in question.golds))
            calls.append(asked)
        gains.append(fmean(by_order))
    return Paired(mean(gains), 100 * (1 - fmean(calls) / options.num_samples))


async def _voted(
    question: Question, samples: list[Sample], options: Options, seed: int
) -> tuple[bool, int]:
    """Return whether the vote is right, and how many calls it made."""
    draws = iter(samples * 2)  # what is asked beside the draws gets some answer, too
    channel = ScriptedChannel(lambda _request: shown(next(draws)))
    member = Member("0", "m", channel)
    request = Request("m", (said("user", question.prompt),))
    technique = TechniqueChannel(
        self_consistency, Task(request, options, Random(seed)), Channels(member, (member,))
    )
    async with technique.open(request) as events:
        reply = await fold(events)
    return is_right(question, reply.text), len(channel.asked)
