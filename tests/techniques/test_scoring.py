from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from techniques.core.json import Json
from techniques.parts.scoring import MODES, ScoreMode, Scoring, scoring_of

share = st.floats(0, 1)
MODE: ScoreMode = "numeric"


@given(share)
def test_a_wrong_answer_never_gets_more_than_two_fifths(judged: float) -> None:
    total = Scoring(MODE).total(0.0, judged)

    assert total is not None
    assert total <= 0.4


@given(share)
def test_a_right_answer_is_good_exactly_if_the_judge_finds_it_decent(judged: float) -> None:
    total = Scoring(MODE).total(1.0, judged)

    assert total is not None
    assert (total >= 0.85) == (judged >= 0.625)


@given(share, share)
def test_a_score_is_a_share_and_no_part_lowers_it(exact: float, judged: float) -> None:
    total = Scoring(MODE).total(exact, judged)
    more = Scoring(MODE).total(1.0, 1.0)

    assert total is not None
    assert more is not None
    assert 0 <= total <= more <= 1


@pytest.mark.parametrize(
    ("scoring", "compares", "judges", "total"),
    [
        (Scoring(MODE), True, True, 0.8),
        (Scoring(MODE, "exact"), True, False, 1.0),
        (Scoring(MODE, "judge"), False, True, 0.5),
        (Scoring(None), False, True, 0.5),
        (Scoring(None, "exact"), False, True, 0.5),
    ],
)
def test_the_strategy_says_what_counts(
    scoring: Scoring, *, compares: bool, judges: bool, total: float
) -> None:
    assert (scoring.compares, scoring.judges) == (compares, judges)
    assert scoring.total(1.0, 0.5) == pytest.approx(total)


@pytest.mark.parametrize(
    ("scoring", "exact", "judged"),
    [
        (Scoring(MODE), 1.0, None),
        (Scoring(MODE), None, 1.0),
        (Scoring(MODE, "exact"), None, 1.0),
        (Scoring(MODE, "judge"), 1.0, None),
        (Scoring(None), None, None),
    ],
)
def test_where_a_part_is_missing_there_is_no_score(
    scoring: Scoring, exact: float | None, judged: float | None
) -> None:
    assert scoring.total(exact, judged) is None


@pytest.mark.parametrize(
    ("source", "mode"),
    [
        ("mmlu", "exact_letter"),
        ("MMLU-Pro", "exact_letter"),
        ("cais/mmlu", "exact_letter"),
        ("mmlu/abstract_algebra", "exact_letter"),
        ("ARC Easy", "exact_letter"),
        ("truthfulqa_mc", "exact_letter"),
        ("openai/gsm8k:test", "numeric"),
        ("math", "numeric"),
        ("google/boolq", "yes_no"),
        ("chartqa", "relaxed"),
        ("mbpp", "code"),
        ("mathematics", None),
        ("my own", None),
        ("", None),
        (7, None),
        (None, None),
    ],
)
def test_a_known_set_of_questions_has_its_mode(source: Json, mode: str | None) -> None:
    assert scoring_of({"source": source}).mode == mode


@pytest.mark.parametrize("mode", MODES)
def test_a_stated_mode_wins(mode: ScoreMode) -> None:
    metadata = {"source": "gsm8k", "score_mode": mode}

    assert scoring_of(metadata, strategy="exact") == Scoring(mode, "exact")


@pytest.mark.parametrize("mode", ["first_letter", 3, "", ["numeric"]])
def test_a_mode_that_there_is_not_is_refused(mode: Json) -> None:
    with pytest.raises(ValueError, match="There is no score mode"):
        scoring_of({"score_mode": mode})


def test_a_question_of_which_nothing_is_known_is_judged() -> None:
    assert scoring_of({}) == Scoring(None)
