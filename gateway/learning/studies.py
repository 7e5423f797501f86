"""What is asked to learn how good answers are. Carried out as techniques are, for nobody to see.

So each call is paced, retried and paid for as those of a technique, and is a row of the ledger.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pydantic import BaseModel

from gateway.channels.overheard import Heard
from techniques.core.channel import Channels, Member, Technique
from techniques.core.events import Event
from techniques.core.fanout import Asking
from techniques.core.registry import Card, Traits
from techniques.core.reply import Reply
from techniques.core.request import Request
from techniques.core.task import Task
from techniques.parts.answers import Expected
from techniques.parts.candidates import Candidate, Draw, Erasure, failure
from techniques.parts.confidence import check_request, read_check
from techniques.parts.cue import cue, cued
from techniques.parts.effort import Effort, raised
from techniques.parts.judge import (
    Side,
    agreed,
    preference_request,
    read_preference,
    read_score,
    verdict_request,
)
from techniques.phases.attempt import Attempt, begin

TRACE: Final = "full_trace"
SAMPLE: Final = "judge_sample"
STRONGER: Final = 100
HARDER: Final = 200
_FRESH: Final = 1.0  # the temperature at which a judge that has judged already does so anew
_TRAITS: Final = Traits("learning", "none", "", "", "It is no technique.")


class Drawing(BaseModel, frozen=True, extra="forbid"):
    """How many answers are drawn, by whom, and who judges them.

    ``efforts`` are with how much more effort the model itself is asked, too. ``judged`` twice: by
    who judges for techniques, and by who tells what that was worth (``valued``). ``checked``: the
    model is asked whether its answers are right, where it tells how likely its words are.
    """

    samples: int = 5
    temperature: float = 0.7
    efforts: tuple[Effort, ...] = ()
    judged: bool = True
    valued: bool = True
    checked: bool = True


class Sampling(BaseModel, frozen=True, extra="forbid"):
    """Whose answer is compared with the plain one, where none was heard.

    That of the ``other`` model of the pool, or of the model itself with more ``effort``.
    """

    other: bool = False
    effort: Effort | None = None


@dataclass(slots=True)
class Findings:
    """What came of a full trace, by the place of each answer.

    Those of other models have places from ``STRONGER`` on, in the order of the pool, those with
    more effort from ``HARDER`` on.
    """

    request: Request | None = None
    expected: Expected | None = None
    candidates: list[Candidate] = field(default_factory=list)
    scores: dict[int, float | None] = field(default_factory=dict)
    values: dict[int, float | None] = field(default_factory=dict)
    sure: dict[int, float | None] = field(default_factory=dict)


@dataclass(slots=True)
class Verdict:
    """What a judge says of an answer beside the plain one: which is better, and how good that is.

    ``side`` is ``first`` where the answer is better. None: it could not be found out.
    """

    side: Side | None = None
    plain_score: float | None = None


def full_trace(found: Findings, options: Drawing) -> tuple[Card, Drawing]:
    """Return what draws a full trace into *found*."""
    return _card(TRACE, Drawing, lambda task, channels: _traced(task, channels, found)), options


def judge_sample(found: Verdict, heard: Heard, options: Sampling) -> tuple[Card, Sampling]:
    """Return what has the judge compare what was *heard*, into *found*.

    What was not heard is asked for; where no other answer is wanted, only the plain one is looked
    at.
    """
    card = _card(SAMPLE, Sampling, lambda task, channels: _sampled(task, channels, found, heard))
    return card, options


def _card(
    name: str,
    options: type[BaseModel],
    run: Callable[[Task[Any], Channels], AsyncGenerator[Event, None]],
) -> Card:
    technique: Technique = run
    return Card(name, "Learns.", _TRAITS, options, technique)


async def _traced(
    task: Task[Drawing], channels: Channels, found: Findings
) -> AsyncGenerator[Event, None]:
    attempt, options = begin(task, channels, TRACE), task.options
    asks = cue(attempt.expected)
    request = cued(attempt.request, asks) if asks else attempt.request
    calls = dict(_draws(attempt, request, options))
    outcomes = await attempt.ask(list(calls.values()))
    draws = [attempt.sift(at, told) for at, told in zip(calls, outcomes, strict=True)]
    found.request, found.expected = attempt.request, attempt.expected
    found.candidates = [one for one in draws if isinstance(one, Candidate)]
    own = [one for one in found.candidates if one.place < STRONGER]
    if options.checked and channels.primary.capabilities.logprobs:
        found.sure = await _checks(attempt, own)
    judge = channels.judge
    if judge is not None and options.judged:
        found.scores = await _scores(attempt, judge, own, "j")
    if judge is not None and options.valued:
        valuer = channels.critic or judge
        fresh = channels.critic is None or channels.critic.model == judge.model
        found.values = await _scores(attempt, valuer, found.candidates, "v", fresh=fresh)
    for event in attempt.committed(_some(draws, own)):
        yield event


def _draws(attempt: Attempt, request: Request, options: Drawing) -> Sequence[tuple[int, Asking]]:
    """Return all calls of a trace, with their places."""
    primary, spread = attempt.channels.primary, attempt.spread(options.temperature)
    places = range(options.samples)
    calls = [(at, Asking(primary, spread.draw(request, primary, at))) for at in places]
    plainly = replace(request, stream=False, role="candidate")
    for at, member in enumerate(attempt.channels.pool[1:], STRONGER):
        calls.append((at, Asking(member, replace(plainly, step=f"c{at}"))))
    for at, effort in enumerate(options.efforts, HARDER):
        wish = raised(request.thinking, effort)
        calls.append((at, Asking(primary, replace(plainly, thinking=wish, step=f"c{at}"))))
    return calls


def _some(draws: Sequence[Draw], own: Sequence[Candidate]) -> Reply:
    """Return an answer, as a technique must.

    Raises:
        GatewayError: There is none.
    """
    if not own:
        raise failure([one for one in draws if isinstance(one, Erasure)] or draws)
    return own[0].reply


async def _scores(
    attempt: Attempt,
    judge: Member,
    candidates: Sequence[Candidate],
    unit: str,
    *,
    fresh: bool = False,
) -> dict[int, float | None]:
    """Return the scores of *candidates* that do not decline, by place.

    A judge that says nothing usable is asked once more. A *fresh* score is drawn anew: a judge that
    always says the same would say it again.
    """
    scores: dict[int, float | None] = {}
    missing = [one for one in candidates if not one.refusal]
    for tried in (unit, f"{unit}r"):
        calls = [_verdict(attempt, judge, one, tried, fresh=fresh) for one in missing]
        outcomes = await attempt.ask(calls)
        scores |= {
            one.place: read_score(told.text) if isinstance(told, Reply) else None
            for one, told in zip(missing, outcomes, strict=True)
        }
        missing = [one for one in missing if scores[one.place] is None]
    return scores


def _verdict(
    attempt: Attempt, judge: Member, candidate: Candidate, unit: str, *, fresh: bool
) -> Asking:
    aside = attempt.aside(judge, f"{unit}{candidate.place}")
    request = verdict_request(aside, candidate.reply)
    if fresh and judge.capabilities.temperature:
        request = replace(request, sampling=replace(request.sampling, temperature=_FRESH))
    return Asking(judge, request)


async def _checks(attempt: Attempt, own: Sequence[Candidate]) -> dict[int, float | None]:
    """Return how sure the model is of each of its *own* answers that could be voted on."""
    primary = attempt.channels.primary
    asked = [one for one in own if one.key is not None and not one.refusal]
    calls = [
        Asking(primary, check_request(attempt.request, one.reply, primary, f"t{one.place}"))
        for one in asked
    ]
    outcomes = await attempt.ask(calls)
    return {
        one.place: read_check(told) if isinstance(told, Reply) else None
        for one, told in zip(asked, outcomes, strict=True)
    }


async def _sampled(
    task: Task[Sampling], channels: Channels, found: Verdict, heard: Heard
) -> AsyncGenerator[Event, None]:
    attempt = begin(task, channels, SAMPLE)
    judge = attempt.judge()
    plain, answer = await _answers(attempt, task.options, heard)
    calls = {"j0": Asking(judge, verdict_request(attempt.aside(judge, "j0"), plain))}
    if answer is not None and answer.parts != plain.parts:
        for step, order in {"p0a": (answer, plain), "p0b": (plain, answer)}.items():
            aside = attempt.aside(judge, step)
            calls[step] = Asking(judge, preference_request(aside, *order))
    outcomes = await attempt.ask(list(calls.values()))
    texts = {
        step: told.text
        for step, told in zip(calls, outcomes, strict=True)
        if isinstance(told, Reply)
    }
    found.plain_score = read_score(texts["j0"]) if "j0" in texts else None
    found.side = "tie" if len(calls) == 1 and answer is not None else _side(texts)
    for event in attempt.committed(plain):
        yield event


async def _answers(attempt: Attempt, options: Sampling, heard: Heard) -> tuple[Reply, Reply | None]:
    """Return the plain answer and the one to compare with it, if any; ask for what is missing.

    Raises:
        GatewayError: One of them did not come.
    """
    primary, pool = attempt.channels.primary, attempt.channels.pool
    plainly = replace(attempt.request, stream=False, role="candidate", step="c0")
    missing: dict[str, Asking] = {}
    if heard.first is None:
        missing["c0"] = Asking(primary, plainly)
    if heard.answer is None and options.other:
        missing["c1"] = Asking(pool[-1], replace(plainly, step="c1"))
    elif heard.answer is None and options.effort is not None:
        wish = raised(plainly.thinking, options.effort)
        missing["c1"] = Asking(primary, replace(plainly, step="c1", thinking=wish))
    outcomes = await attempt.ask(list(missing.values()))
    came: dict[str, Reply] = {}
    for step, outcome in zip(missing, outcomes, strict=True):
        if not isinstance(outcome, Reply):
            raise outcome
        came[step] = outcome
    return heard.first or came["c0"], heard.answer or came.get("c1")


def _side(texts: Mapping[str, str]) -> Side | None:
    """Return what both orders say; None where a judge failed, which says nothing."""
    sides = [read_preference(texts[step]) if step in texts else None for step in ("p0a", "p0b")]
    return None if None in sides else agreed(*sides)
