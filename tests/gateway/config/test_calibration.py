from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from gateway.config.calibration import Measured, ModelCalibration, measured
from techniques.core.json import Json

GRADED = {"right": 9, "of": 10, "accuracy": 0.8}


def kept(folder: Path, models: Json) -> Path:
    path = folder / "calibration.json"
    path.write_bytes(orjson.dumps({"version": 1, "made": "2026-11-29", "models": models}))
    return path


def problems(path: Path) -> str:
    with pytest.raises(ValueError, match=r".") as caught:
        measured(path)
    return str(caught.value)


def sure(*quantiles: float) -> Measured:
    return Measured({"m": ModelCalibration(sureness=quantiles)})


def test_what_was_measured_is_told_by_model_and_kind(tmp_path: Path) -> None:
    known = measured(kept(tmp_path, {"m": {"accuracy": {"number": GRADED}}}))

    assert known.accuracy("m", "number") == 0.8
    assert known.accuracy("m", "letter") is None
    assert known.accuracy("other", "number") is None
    assert known.ahead("m", "other", "number") is None
    assert known.ahead("m", "other", "letter") is None
    assert known.ahead("other", "m", "number") is None
    assert known.rank("m", 0.5) is None
    assert known.rank("other", 0.5) is None


@pytest.mark.parametrize(
    ("value", "rank"),
    [(0.1, 0.0), (0.2, 0.0), (0.3, 0.25), (0.4, 0.5), (0.5, 0.75), (0.6, 1.0), (0.9, 1.0)],
)
def test_a_rank_lies_between_the_quantiles(value: float, rank: float) -> None:
    assert sure(0.2, 0.4, 0.6).rank("m", value) == pytest.approx(rank)


def test_answers_that_were_equally_sure_share_the_middle_of_their_ranks() -> None:
    assert sure(0.2, 0.9, 0.9, 0.9, 1.0).rank("m", 0.9) == 0.5
    assert sure(0.9, 0.9).rank("m", 0.9) == 0.5


JUDGE = {"of": 40, "scores": [0.2, 0.8], "chances": [0.2, 0.8]}


def test_what_a_score_makes_of_the_odds_is_told_by_judge_and_kind(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    path.write_bytes(orjson.dumps({"judges": {"j": {"number": JUDGE}}}))
    known = measured(path)

    assert known.odds("j", "number", 0.9) == 1.0
    assert known.odds("j", "number", 0.5) == pytest.approx(1 / 4)
    assert known.odds("j", "number", 0.1) == pytest.approx(1 / 16)
    assert known.odds("j", "letter", 0.5) is None
    assert known.odds("other", "number", 0.5) is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"chances": [0.2]}, "a chance for each score"),
        ({"scores": [0.8, 0.2]}, "scores do not rise"),
        ({"chances": [0.8, 0.2]}, "chances fall"),
        ({"chances": [0.2, 1.0]}, "judges.j.number.chances"),
        ({"scores": [], "chances": []}, "judges.j.number.scores"),
    ],
)
def test_a_judge_that_cannot_be_is_told(tmp_path: Path, change: Json, said: str) -> None:
    path = tmp_path / "calibration.json"
    path.write_bytes(orjson.dumps({"judges": {"j": {"number": {**JUDGE, **change}}}}))

    assert said in problems(path)


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ({"m": {"accuracy": {"number": {**GRADED, "right": 11}}}}, "more are right"),
        ({"m": {"accuracy": {"number": {**GRADED, "accuracy": 1.1}}}}, "models.m.accuracy.number"),
        ({"m": {"sureness": [0.5, 0.4]}}, "do not rise"),
        ({"m": {"sureness": [0.5]}}, "one quantile"),
        ({"m": {"secret": 1}}, "models.m.secret"),
    ],
)
def test_what_cannot_be_is_told_with_its_path(tmp_path: Path, models: Json, said: str) -> None:
    assert said in problems(kept(tmp_path, models))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"version": 2}'])
def test_what_is_no_calibration_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)

    assert problems(path)


def beside(tmp_path: Path, share: float) -> Path:
    return kept(tmp_path, {"m": {"accuracy": {"number": {**GRADED, "ahead": {"other": share}}}}})


def test_two_models_are_told_apart_by_kind(tmp_path: Path) -> None:
    assert measured(beside(tmp_path, 0.25)).ahead("m", "other", "number") == 0.25


def test_no_model_is_always_right_where_one_of_two_is(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"models\.m\.accuracy\.number\.ahead\.other"):
        measured(beside(tmp_path, 1))
