"""Reads sets that four unequal models answered in three ways each."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from bench.quality.reading import golds_of, rows, sampled
from bench.quality.recorded import Question, RecordedModel, RecordedSet

_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_PROMPTINGS: Final = ("COT", "LtM", "noNL")
_FAITHFUL: Final = (
    RecordedModel("code002", "20", "20"),
    RecordedModel("text003", "20", "20"),
    RecordedModel("gpt-3.5-turbo", "0.5", "1.5"),
    RecordedModel("gpt4", "30", "60"),
)


def _plain(question: str) -> str:
    return question


def _options(question: str) -> str:
    stem, _, options = question.partition("\n# Answer option: ")
    lines = [re.sub(r"^([A-E])\)", r"\1) ", one) for one in ast.literal_eval(options)]
    return "\n".join((stem, *lines))


def _yes_no(question: str) -> str:
    return f"{question} Answer yes or no."


def _plausible(question: str) -> str:
    return f'Is this sentence plausible: "{question}"? Answer yes or no.'


def _number(answer: str) -> str:
    """Return the last number in *answer*, which may be a sentence; the whole if it has none."""
    found = _NUMBER.findall(answer.replace(",", ""))
    return found[-1] if found else answer


def _worded_as(words: Mapping[str, str]) -> Callable[[str], str]:
    return lambda answer: words.get(answer, answer)


_WORDED: Final[Mapping[str, tuple[Callable[[str], str], Callable[[str], str]]]] = {
    **dict.fromkeys(("GSM8K", "MultiArith", "SVAMP", "ASDiv"), (_plain, _number)),
    "AQUA": (_options, _worded_as({"N": "none"})),
    "StrategyQA": (_yes_no, _worded_as({"True": "yes", "False": "no"})),
    "sports": (_plausible, _worded_as({"1": "yes", "0": "no"})),
}
"""How a set's questions are asked, and how its answers are read."""


def faithful(name: str) -> Callable[[Path], RecordedSet]:
    """Return what reads the set *name*, which four unequal models answered in three ways each."""

    def load(folder: Path) -> RecordedSet:
        worded, read = _WORDED.get(name, (_plain, str))
        answers: defaultdict[str, dict[tuple[str, str], str]] = defaultdict(dict)
        for row in rows(folder / "faithfulcot_answers.jsonl.gz"):
            if row["set"] == name:
                answers[str(row["id"])][row["model"], row["method"]] = row["answer"]
        questions = []
        for row in rows(folder / "faithfulcot_questions.jsonl.gz"):
            if row["set"] != name:
                continue
            golds = golds_of(read(str(row["gold"])))
            given = answers[str(row["id"])]
            samples = {
                model.name: tuple(
                    sampled(read(str(given[model.name, way])), golds)
                    for way in _PROMPTINGS
                    if (model.name, way) in given
                )
                for model in _FAITHFUL
            }
            if golds and all(samples.values()):
                questions.append(Question(str(row["id"]), worded(row["question"]), golds, samples))
        return RecordedSet(
            f"faithful_{name}", f"four unequal models, {name}", _FAITHFUL, tuple(questions)
        )

    return load
