from __future__ import annotations

from collections.abc import Sequence

import pytest
from pydantic import TypeAdapter, ValidationError

from techniques import catalog
from techniques.core.json import Json
from techniques.core.registry import load
from techniques.parts.tables import (
    CARDS,
    Bin,
    Bins,
    Dispatch,
    Row,
    Table,
    by_confidence,
    by_difficulty,
    voided,
)

ALL = load(catalog)
TABLE: TypeAdapter[tuple[Row, ...]] = TypeAdapter(Table)
BINS: TypeAdapter[tuple[Bin, ...]] = TypeAdapter(Bins)


def rows(*ranges: tuple[float, float]) -> list[Json]:
    return [
        {"name": f"{low:g}", "difficulty_range": [low, high], "technique": "baseline"}
        for low, high in ranges
    ]


def bins(*edges: float) -> list[Json]:
    return [{"at_least": edge, "technique": "baseline"} for edge in edges]


def named(chosen: Sequence[Row]) -> list[str]:
    return [row.name for row in chosen]


def test_rows_may_stand_in_any_order() -> None:
    table = TABLE.validate_python(rows((0.5, 1), (0, 0.5)))

    assert [row.difficulty_range for row in table] == [(0, 0.5), (0.5, 1)]


@pytest.mark.parametrize(
    ("ranges", "fault"),
    [
        ([], "a table needs a row"),
        ([(0, 0.5)], "begin at 0 and end at 1"),
        ([(0.1, 1)], "begin at 0 and end at 1"),
        ([(0, 0.4), (0.5, 1)], "no row is for 0.4 to 0.5"),
        ([(0, 0.6), (0.5, 1)], "two rows are for 0.5 to 0.6"),
        ([(0, 1), (0, 1)], "two rows are for 0 to 1"),
        ([(0, 0.5), (0.5, 0.5), (0.5, 1)], "0.5 to 0.5 is no range"),
        ([(0, float("nan"))], "is no range"),
    ],
)
def test_a_table_with_a_gap_or_an_overlap_is_refused(
    ranges: list[tuple[float, float]], fault: str
) -> None:
    with pytest.raises(ValidationError, match=fault):
        TABLE.validate_python(rows(*ranges))


@pytest.mark.parametrize(
    ("difficulty", "expected"),
    [(0, ["0"]), (0.49, ["0"]), (0.5, ["0.5", "0"]), (1, ["0.75", "0.5", "0"])],
)
def test_the_row_of_a_difficulty_comes_first_and_then_the_easier_ones(
    difficulty: float, expected: list[str]
) -> None:
    table = TABLE.validate_python(rows((0, 0.5), (0.5, 0.75), (0.75, 1)))

    assert named(by_difficulty(table, difficulty)) == expected


@pytest.mark.parametrize(
    ("edges", "fault"),
    [([], "no bin begins at 0"), ([0.5], "no bin begins at 0"), ([0.5, 0.5, 0], "at the same")],
)
def test_bins_that_leave_out_or_repeat_a_confidence_are_refused(
    edges: list[float], fault: str
) -> None:
    with pytest.raises(ValidationError, match=fault):
        BINS.validate_python(bins(*edges))


@pytest.mark.parametrize(
    ("confidence", "shift", "expected"),
    [
        (1.0, 0.0, [0.7]),
        (0.7, 0.0, [0.7]),
        (0.69, 0.0, [0.5, 0.7]),
        (0.0, 0.0, [0.0, 0.5, 0.7]),
        (0.72, 0.05, [0.5, 0.7]),
        (0.62, -0.1, [0.7]),
        (0.0, 0.2, [0.0, 0.5, 0.7]),
    ],
)
def test_the_bin_of_a_confidence_comes_first_and_then_those_of_more(
    confidence: float, shift: float, expected: list[float]
) -> None:
    ordered = BINS.validate_python(bins(0, 0.5, 0.7))

    assert [one.at_least for one in by_confidence(ordered, confidence, shift)] == expected


@pytest.mark.parametrize(
    ("shift", "left"), [(0, True), (0.29, True), (0.3, False), (-0.49, True), (-0.5, False)]
)
def test_a_shift_that_leaves_a_bin_without_any_confidence_is_seen(
    shift: float, *, left: bool
) -> None:
    assert voided(BINS.validate_python(bins(0, 0.5, 0.7)), shift) != left


@pytest.mark.parametrize(
    ("dispatch", "fault"),
    [
        ({"technique": "telepathy"}, "there is no technique 'telepathy'"),
        ({"technique": "acm"}, "acm chooses a technique itself"),
        ({"technique": "soft_acm"}, "soft_acm chooses a technique itself"),
        (
            {"technique": "self_consistency", "params": {"num_samples": 1}},
            "self_consistency: num_samples: .* greater than",
        ),
        ({"technique": "self_consistency", "params": {"sample": 1}}, "self_consistency: sample:"),
    ],
)
def test_a_dispatch_is_to_one_of_the_techniques_that_there_are(dispatch: Json, fault: str) -> None:
    with pytest.raises(ValidationError, match=fault):
        Dispatch.model_validate(dispatch, context={CARDS: ALL})


def test_a_dispatch_may_go_by_another_name_of_a_technique() -> None:
    names = [name for name, card in ALL.items() if card.traits.family != "adaptive"]

    for name in names:
        assert Dispatch.model_validate({"technique": name}, context={CARDS: ALL}).technique == name
