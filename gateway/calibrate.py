"""Measures how often models are right, question by question, and what to expect of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import quantiles
from typing import Final

import anyio
import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from gateway.config.calibration import (
    CalibrationFile,
    Graded,
    JudgeCalibration,
    ModelCalibration,
)
from gateway.shares import Count, Rights, ahead, expected, independent
from techniques.core.errors import GatewayError
from techniques.core.groups import task_group
from techniques.core.json import Json
from techniques.core.reply import Reply
from techniques.core.request import Request, Text
from techniques.parts.answers import Expected, expect
from techniques.parts.confidence import token_sureness
from techniques.parts.isotonic import isotonic
from techniques.parts.keys import TEXT, key_of

_STEPS: Final = 20  # between the quantiles of the sureness
_LEAST_SHARE: Final = 0.0001
_LEAST_SURE: Final = 5  # answers below which these tell nothing


class UnusableQuestions(Exception):
    """The file of questions cannot be used; the message has a line for each fault."""


@dataclass(frozen=True, slots=True)
class Question:
    """A conversation to be continued, and the reference that the answer must agree with."""

    messages: Sequence[Json]
    reference: str


@dataclass(frozen=True, slots=True)
class Marked:
    """What became of one question to one model.

    ``right`` is None where the model failed, ``sureness`` where it told none, ``score`` where no
    judge gave one. Of a question that cannot be graded by itself ``kind`` is "". ``question`` is
    its place among all.
    """

    model: str
    kind: str
    right: bool | None
    sureness: float | None = None
    score: float | None = None
    question: int = 0


Ask = Callable[[str, Question], Awaitable[tuple[Request, Reply]]]
"""Asks one model one question plainly; returns the request in full, and the reply.

Raises:
    GatewayError: It failed.
"""


Judge = Callable[[Request, Reply], Awaitable[float | None]]
"""Scores a reply to a request, 0 to 1; None if that did not come to a score."""


async def unjudged(request: Request, reply: Reply) -> None:
    """Score nothing."""
    del request, reply


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    prompt: str | None = None
    messages: list[dict[str, Json]] | None = Field(None, min_length=1)
    reference: str | int | float

    @model_validator(mode="after")
    def _one_question(self) -> _Row:
        if (self.prompt is None) == (self.messages is None):
            raise ValueError("give either prompt or messages")
        return self


def read_questions(text: str) -> list[Question]:
    """Return the questions in *text*, a JSON object a line.

    Each has ``prompt`` or ``messages``, and ``reference``; what else it has does not matter.

    Raises:
        UnusableQuestions: A line is none, or there is no line.
    """
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    problems: list[str] = []
    found = [question for number, line in lines for question in _read(line, number, problems)]
    if problems or not found:
        raise UnusableQuestions("\n".join(problems) or "there is no question")
    return found


async def marked(
    ask: Ask,
    models: Sequence[str],
    questions: Sequence[Question],
    *,
    judge: Judge = unjudged,
    width: int = 4,
) -> list[Marked]:
    """Ask each of *models* each of *questions*, *width* at a time, and mark the answers.

    Those that can be graded are shown to *judge* too.
    """
    limiter = anyio.CapacityLimiter(width)
    marks: list[Marked] = []

    async def one(model: str, place: int) -> None:
        async with limiter:
            mark = await _mark(ask, judge, model, questions[place])
            marks.append(replace(mark, question=place))

    async with task_group() as group:
        for place in range(len(questions)):
            for model in models:
                group.start_soon(one, model, place)
    return marks


def calibration(marks: Sequence[Marked], made: str, judge: str | None = None) -> CalibrationFile:
    """Return what *marks* tell of the models, and of *judge*; *made* is the day."""
    sure: defaultdict[str, list[float]] = defaultdict(list)
    for mark in marks:
        if mark.sureness is not None:
            sure[mark.model].append(mark.sureness)
    graded = _graded([mark for mark in marks if mark.right is not None])
    models = {
        model: ModelCalibration(accuracy=graded.get(model, {}), sureness=_quantiles(sure[model]))
        for model in sorted({*graded, *sure})
    }
    judges = {judge: _judged(marks)} if judge is not None else {}
    return CalibrationFile(made=made, models=models, judges=judges)


def _graded(marks: Iterable[Marked]) -> dict[str, dict[str, Graded]]:
    """Return what *marks* tell of each model by kind of answer."""
    rights: defaultdict[str, dict[str, dict[int, bool]]] = defaultdict(dict)
    for mark in marks:
        rights[mark.kind].setdefault(mark.model, {})[mark.question] = bool(mark.right)
    graded: defaultdict[str, dict[str, Graded]] = defaultdict(dict)
    for kind, of_kind in rights.items():
        others = [by_model for name, by_model in rights.items() if name != kind]
        elsewhere = {
            model: {at: one for by in others for at, one in by.get(model, {}).items()}
            for model in of_kind
        }
        counts = {model: _count(answers) for model, answers in of_kind.items()}
        overall = {model: _count({**elsewhere[model], **of_kind[model]}) for model in of_kind}
        shares = expected(counts, overall)
        for model in of_kind:
            against = {
                other: ahead(
                    (of_kind[model], of_kind[other]),
                    (elsewhere[model], elsewhere[other]),
                    independent(shares[model], shares[other]),
                )
                for other in of_kind
                if other != model
            }
            right, of = counts[model]
            graded[model][kind] = Graded(
                right=right,
                of=of,
                accuracy=round(shares[model], 4),
                ahead={other: _inside(share) for other, share in against.items()},
            )
    return graded


def _count(answers: Rights) -> Count:
    return sum(answers.values()), len(answers)


def _inside(share: float) -> float:
    """Return *share* in few digits, which never make it 0 or 1."""
    return min(max(round(share, 4), _LEAST_SHARE), 1 - _LEAST_SHARE)


def _judged(marks: Iterable[Marked]) -> dict[str, JudgeCalibration]:
    scored: defaultdict[str, list[tuple[float, bool]]] = defaultdict(list)
    for mark in marks:
        if mark.right is not None and mark.score is not None:
            scored[mark.kind].append((mark.score, mark.right))
    found = {}
    for kind, pairs in scored.items():
        scores, chances = zip(*isotonic(pairs), strict=True)
        found[kind] = JudgeCalibration(of=len(pairs), scores=scores, chances=chances)
    return found


def rendered(file: CalibrationFile, marks: Sequence[Marked]) -> str:
    """Return *file* as a table, and what was left out of it."""
    rows = [("model", "kind", "right", "of", "expected")]
    rows += [
        (name, kind, str(one.right), str(one.of), f"{100 * one.accuracy:.1f} %")
        for name, model in file.models.items()
        for kind, one in model.accuracy.items()
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([*lines, *_told(file), *_left_out(marks)])


def _told(file: CalibrationFile) -> Iterator[str]:
    for judge, kinds in file.judges.items():
        for kind, one in kinds.items():
            low, high = 100 * one.chances[0], 100 * one.chances[-1]
            yield (
                f"{judge} on {kind}: of {one.of} answers those it scored lowest are right in "
                f"{low:.0f} %, those it scored highest in {high:.0f} %"
            )


def _left_out(marks: Sequence[Marked]) -> Iterator[str]:
    ungraded = sum(not mark.kind for mark in marks)
    failed = sum(mark.right is None and bool(mark.kind) for mark in marks)
    if ungraded:
        yield f"{ungraded} answers could not be graded by comparing them with the reference."
    if failed:
        yield f"{failed} calls failed and are not counted."


def _read(line: str, number: int, problems: list[str]) -> Iterator[Question]:
    try:
        row = _Row.model_validate_json(line)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        at = ".".join(map(str, fault["loc"]))
        problems.append(f"line {number}: {f'{at}: ' if at else ''}{fault['msg']}")
        return
    asked: list[Json] = [{"role": "user", "content": row.prompt}]
    yield Question(list(row.messages) if row.messages else asked, str(row.reference))


async def _mark(ask: Ask, judge: Judge, model: str, question: Question) -> Marked:
    try:
        request, reply = await ask(model, question)
    except GatewayError:
        return Marked(model, "unknown", None)
    expected = expect(request)
    wanted = _key(question.reference, expected)
    sureness = token_sureness(reply)
    if wanted is None:
        return Marked(model, "", None, sureness)
    right = key_of(reply, expected) == wanted
    return Marked(model, expected.text, right, sureness, await judge(request, reply))


def _key(reference: str, expected: Expected) -> str | None:
    """Return the key that a right answer has; None where only its words could be compared."""
    key = key_of(Reply((Text(reference),)), expected)
    return None if key is None or key.startswith((TEXT, "code|")) else key


def _quantiles(values: Sequence[float]) -> tuple[float, ...]:
    if len(values) < _LEAST_SURE:
        return ()
    inner = quantiles(values, n=_STEPS, method="inclusive")
    return tuple(round(value, 5) for value in (min(values), *inner, max(values)))


def written(file: CalibrationFile) -> bytes:
    """Return *file* as it is kept."""
    return orjson.dumps(file.model_dump(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def plain(model: str, question: Question, *, logprobs: bool) -> dict[str, Json]:
    """Return the body of a plain call; *logprobs* asks how likely the tokens were."""
    body: dict[str, Json] = {"model": model, "messages": list(question.messages)}
    return {**body, "logprobs": True} if logprobs else body
