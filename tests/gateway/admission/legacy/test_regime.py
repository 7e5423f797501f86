from __future__ import annotations

import pytest

from gateway.admission.legacy.regime import RegimeDetector


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        ([(10, 950, 100)], None),
        ([(10, 950, 100), (10, 950, 100)], "continuous"),
        ([(10, 0, 100), (10, -5, 100)], "fixed"),
        ([(1.9, 190, 100), (1.9, 190, 100)], None),
        ([(10, 950, 0), (10, 950, 0)], None),
        ([(10, 300, 100), (10, 300, 100)], None),
        ([(10, 950, 100), (10, 0, 100)], None),
        ([(10, 950, 100), (10, 950, 100), (10, 0, 100), (10, 0, 100)], "fixed"),
    ],
    ids=["once", "fills", "stands", "too soon", "no rate", "between", "undecided", "changed"],
)
def test_two_of_the_last_three_votes_decide(
    readings: list[tuple[float, float, float]], expected: str | None
) -> None:
    detector = RegimeDetector()

    for reading in readings:
        detector.feed(*reading)

    assert detector.regime == expected
