from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from techniques.core.request import said
from techniques.parts.category import categorise, category_of
from tests.techniques.scene import asks

DATA = Path(__file__).parent / "data"
NAMES = ("qa", "reasoning", "creative", "code")
Labelled = list[tuple[str, str, str]]


def prompts(name: str) -> Labelled:
    """Return prompts with language and category. The held-out ones were written first, the words
    and weights never fitted to them.
    """
    rows = json.loads((DATA / f"prompts_{name}.json").read_text("utf-8"))
    return [(language, category, text) for language, category, text in rows]


def macro_f1(rows: Labelled) -> float:
    counts: Counter[tuple[str, str]] = Counter()
    for _, category, text in rows:
        counts[category, category_of(text).name] += 1
    return sum(f1(counts, name) for name in NAMES) / len(NAMES)


def f1(counts: Counter[tuple[str, str]], name: str) -> float:
    found = sum(count for (_, said_so), count in counts.items() if said_so == name)
    there = sum(count for (category, _), count in counts.items() if category == name)
    return 2 * counts[name, name] / (found + there)


@pytest.mark.parametrize("name", ["labelled", "held_out"])
def test_prompts_in_six_languages_are_told_apart(name: str) -> None:
    assert macro_f1(prompts(name)) >= 0.85


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "ru", "zh"])
def test_no_language_is_left_behind(language: str) -> None:
    rows = [row for name in ("labelled", "held_out") for row in prompts(name) if row[0] == language]

    assert sum(category_of(text).name == category for _, category, text in rows) >= 0.8 * len(rows)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("We return to the function of the import duty: what was it?", "qa"),
        ("Which costs more, a $3 coffee?", "qa"),
        ("A landlord owns a three-story building. May the tenant sublet it?", "qa"),
        ("Please write a Python script.", "code"),
        ("Describe the water cycle.", "qa"),
        ("What is a haiku?", "qa"),
        ("Who wrote the first poem in English?", "qa"),
        ("What happened in 1815 and in 1848?", "qa"),
    ],
)
def test_words_that_mean_several_things_are_read_with_what_stands_near(
    text: str, name: str
) -> None:
    assert category_of(text).name == name


def test_where_signals_contradict_each_other_it_is_a_question_and_nobody_is_sure() -> None:
    category = category_of("Who wrote Python?")

    assert category.name == "qa"
    assert category.confidence < 0.2
    assert set(category.evidence) == {"programming term", "fact asked for"}


def test_more_signals_make_it_surer() -> None:
    one = category_of("Something about Python")
    two = category_of("Write a Python script: ```import sys```")

    assert one.name == two.name == "code"
    assert 0 < one.confidence < two.confidence < 1


def test_a_follow_up_is_about_what_was_asked_before() -> None:
    request = asks("Write a poem about the sea.").with_turns(
        said("assistant", "Blue."), said("user", "Longer, please.")
    )

    assert categorise(request).name == "creative"


def test_what_the_model_said_is_not_what_is_asked() -> None:
    request = asks("Go on.").with_turns(said("assistant", "```python\nx = 1\n```"))

    assert categorise(request).name == "qa"
    assert categorise(request).confidence == 0


def test_a_request_without_words_is_a_question() -> None:
    assert categorise(asks(messages=())).name == "qa"
    assert category_of("").evidence == ()


def test_an_instruction_at_the_end_of_a_long_text_is_seen() -> None:
    text = "The committee met on Tuesday and talked. " * 500

    assert category_of(text + "\nWrite a Python script that sums this up.").name == "code"


@given(st.text(max_size=300))
def test_any_text_has_one_category(text: str) -> None:
    category = category_of(text)

    assert category == category_of(text)
    assert category.name in NAMES
    assert 0 <= category.confidence < 1


def test_it_takes_no_time_that_is_felt() -> None:
    texts = [text for _, _, text in prompts("labelled")] + ["A) x = 1; who? \u5199 " * 20_000]

    best = min(_seconds(texts) for _ in range(5))

    assert best / len(texts) < 0.001  # a fifth of this on a quiet machine


def _seconds(texts: list[str]) -> float:
    start = time.perf_counter()
    for text in texts:
        category_of(text)
    return time.perf_counter() - start
