from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from techniques.core.json import Json
from techniques.parts.accept import better, changed
from techniques.parts.critique import (
    Critique,
    Finding,
    correction,
    read_critique,
    repair,
)
from techniques.parts.judge import CHECKLIST, Side, agreed, read_preference, read_score
from tests.techniques.scene import fault, faults, marks, prefers

ABSENT = Finding("", "missing", "Say when.", "major")
WRONG = Finding("in 1916", "wrong", "in 1917", "critical")


def test_a_full_checklist_is_weighed() -> None:
    assert read_score(marks()) == 1.0
    assert read_score(marks("n01")) == pytest.approx(0.92)
    assert read_score(marks("n13", "n15")) == pytest.approx(0.95)


def test_what_does_not_apply_does_not_count() -> None:
    assert read_score(marks("n01", skipped=("n02", "n03"))) == pytest.approx(1 - 0.08 / 0.84)


def test_an_answer_wrong_at_its_core_cannot_score_well() -> None:
    assert read_score(marks("n04")) == pytest.approx(0.40)
    assert read_score(marks(*CHECKLIST)) == 0.0


@pytest.mark.parametrize(
    "filled",
    [
        dict.fromkeys(list(CHECKLIST)[:8], 1),
        {name: 1 for name in CHECKLIST if name != "n04"},
        {**dict.fromkeys(CHECKLIST, 1), "n04": None},
        dict.fromkeys(CHECKLIST, "yes"),
        dict.fromkeys(CHECKLIST, 2),
        dict.fromkeys(CHECKLIST, 0.5),
        {"score": 9},
        {},
    ],
)
def test_a_checklist_without_gate_or_half_empty_is_no_score(filled: Json) -> None:
    assert read_score(json.dumps(filled)) is None


def test_a_checklist_cut_off_is_no_score() -> None:
    assert read_score(marks()[:120]) is None


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("8", 0.8),
        ("Score: 8", 0.8),
        ("8/10", 0.8),
        ("Rating is 7.5 out of 10.", 0.75),
        ("Of the 9 points, I give: 2", 0.2),
        ("My verdict: **3**", 0.3),
        ("0", 0.0),
        ("10", 1.0),
        ("95", None),
        ("11/10", None),
        ("-4", None),
        ("Score: -4", None),
        ("NaN", None),
        ("I can not rate this", None),
        ("2 or 3", None),
        ("I give 2 of the 9 points", None),
        ("1e1", None),
        ("", None),
    ],
)
def test_tech_06_only_one_plain_number_in_range_is_a_score(text: str, score: float | None) -> None:
    assert read_score(text) == score


@given(st.text(max_size=200))
def test_whatever_a_judge_says_is_a_score_from_0_to_1_or_none(text: str) -> None:
    score = read_score(text)
    assert score is None or 0 <= score <= 1


@pytest.mark.parametrize(
    ("text", "side"),
    [
        (prefers("1"), "first"),
        (prefers("2"), "second"),
        (prefers("tie"), "tie"),
        ('{"winner": 2}', "second"),
        ('{"winner": "both"}', None),
        ("The second.", None),
    ],
)
def test_preferences_are_read_strictly(text: str, side: str | None) -> None:
    assert read_preference(text) == side


@pytest.mark.parametrize(
    ("as_given", "swapped", "verdict"),
    [
        ("first", "second", "first"),
        ("second", "first", "second"),
        ("first", "first", "tie"),
        ("tie", "tie", "tie"),
        ("first", "tie", "tie"),
        (None, "second", "tie"),
        ("first", None, "tie"),
    ],
)
def test_a_preference_must_survive_the_swap(
    as_given: Side | None, swapped: Side | None, verdict: Side
) -> None:
    assert agreed(as_given, swapped) == verdict


def test_a_revision_must_be_better_by_more_than_the_noise() -> None:
    assert not better(0.72, [0.70])
    assert better(0.75, [0.70])
    assert better(0.735, [0.70] * 9)
    assert not better(None, [0.70])
    assert not better(0.9, [])


def test_what_was_changed_is_a_share_of_the_words() -> None:
    text = "word " * 99
    assert changed(text, text + "more") == pytest.approx(0.01)
    assert changed("It began in 1916 there.", "It began in 1914 there.") == pytest.approx(0.2)
    assert changed("It is", "It is") == changed("", "") == 0
    assert changed("", "It is 42.") == 1
    assert changed("a b", "b a") == changed("a b c", "x y") == 1
    assert changed("a a", "a a a") == pytest.approx(1 / 3)
    assert changed("a b c d", "a x y d") == 0.5


def test_of_a_text_of_megabytes_what_was_changed_is_a_share_of_the_characters() -> None:
    text = "word " * 100_000
    assert changed(text, text) == 0
    assert changed(text, f"{text}{text}") == 0.5
    assert changed(text, "x" * len(text)) == 1
    middle = f"{text[:200_000]}{'x' * 100_000}{text[300_000:]}"
    assert changed(text, middle) == pytest.approx(0.2)


def test_a_critique_is_read_item_by_item() -> None:
    said = faults(
        fault("in 1916", "in 1917", severity="critical"),
        fault("x", "", "wrong"),
        fault("x", "y", "taste"),
        {"fix": "Say when.", "kind": "missing", "severity": "huge"},
    )
    read = read_critique(said)
    assert read == Critique(done=False, findings=(WRONG, replace(ABSENT, severity="minor")))


@pytest.mark.parametrize(
    ("text", "critique"),
    [
        (faults(decision="stop"), Critique(done=True, findings=())),
        ('{"decision": "stop"}', Critique(done=True, findings=())),
        ('{"decision": "continue", "issues": ["x"]}', Critique(done=False, findings=())),
        ('{"decision": "maybe"}', None),
        ("No issues found.", None),
    ],
)
def test_a_critique_that_does_not_decide_is_none(text: str, critique: Critique | None) -> None:
    assert read_critique(text) == critique


def test_corrections_and_repairs_say_what_to_do() -> None:
    text = correction([WRONG, ABSENT])
    assert '1. (wrong) Where it says "in 1916": in 1917' in text
    assert "2. (missing) Say when." in text
    assert "- The answer is no JSON." in repair(["The answer is no JSON."])
