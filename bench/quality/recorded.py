"""Recorded answers in one form, whatever set they come from, and what they are worth."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Final

from techniques.core.json import JsonObject

_DATE: Final = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_GIVEN: Final = re.compile(
    r"(?:final answer:|answer is|answer:)\s*(?P<value>[^\n]+?)\.?\s*$", re.I | re.M
)
_NOTHING: Final = frozenset({"", "none", "nan", "unknown", "[invalid]", "[error]"})


@dataclass(frozen=True, slots=True)
class Sample:
    """One recorded answer.

    Attributes:
        answer: What it came to in canonical form, None if to nothing.
        right: Whether that is right.
        text: The model's own words, "" where only the answer was kept.
        logprob: The mean log-probability of its tokens.
        tokens: Its length, None if not recorded.
        read: That of its prompt.
        seconds: How long it took, None if not recorded.
    """

    answer: str | None
    right: bool
    text: str = ""
    logprob: float | None = None
    tokens: int | None = None
    read: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and what each model answered.

    Attributes:
        id: Names it within its set.
        prompt: The user's turn.
        golds: The right answers in canonical form.
        samples: Draws of each model.
        greedy: The answer of each model at temperature 0, where that was recorded apart.
        tool: The function that may be called, in OpenAI's form, None for text.
    """

    id: str
    prompt: str
    golds: frozenset[str]
    samples: Mapping[str, Sequence[Sample]]
    greedy: Mapping[str, Sample] = field(default_factory=dict)
    tool: JsonObject | None = None

    @property
    def gold(self) -> str:
        """One right answer."""
        return min(self.golds)


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """A model whose answers were kept; prices in dollars per million tokens."""

    name: str
    input: str = "1"
    output: str = "1"
    logprobs: bool = False


@dataclass(frozen=True, slots=True)
class RecordedSet:
    """Questions and the models that answered them, the best last.

    ``voted`` sets are there to see what voting does to draws of one model, ``timed`` ones have
    recorded times.
    """

    name: str
    about: str
    models: tuple[RecordedModel, ...]
    questions: tuple[Question, ...]
    timed: bool = False

    def accuracy(self, model: str) -> float:
        """Return the share of right answers among all of *model*."""
        rights = [one.right for question in self.questions for one in question.samples[model]]
        return sum(rights) / len(rights) if rights else 0.0


def canonical(answer: object) -> str | None:
    """Return *answer* so that two that are the same are written the same, None for none."""
    text = str(answer).strip().strip("$").rstrip(".")
    if text.casefold() in _NOTHING:
        return None
    if date := _DATE.fullmatch(text):
        return f"{int(date[1]):02}/{int(date[2]):02}/{date[3]}"
    try:
        number = Decimal(text.replace(",", "").replace("$", "").removesuffix("%"))
    except InvalidOperation:
        return text.casefold()
    return f"{number.normalize():f}" if number.is_finite() else None


def shown(sample: Sample) -> str:
    """Return the text that stands for *sample*."""
    if sample.text:
        return sample.text
    if sample.answer is None:
        return "I do not know."
    return f"The answer is {sample.answer.upper() if len(sample.answer) == 1 else sample.answer}."


def is_right(question: Question, text: str) -> bool:
    """Tell whether *text*, which a technique gave, is right.

    It is one of the recorded answers word for word, or says what its answer is.
    """
    for samples in (*question.samples.values(), tuple(question.greedy.values())):
        for sample in samples:
            if sample.text and sample.text.strip() == text.strip():
                return sample.right
    return given(text) in question.golds


def given(text: str) -> str | None:
    """Return the answer that *text* states last in canonical form, None if it states none."""
    found = [match["value"] for match in _GIVEN.finditer(text)]
    return canonical(found[-1].strip("*_` ")) if found else canonical(text.strip())
