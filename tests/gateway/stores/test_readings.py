"""How what answers tell becomes readings of the ledger's windows."""

from __future__ import annotations

import pytest

from gateway.admission.limits import Learned
from gateway.admission.reading import Reading, Told
from gateway.stores.ledger import WindowReading, WindowSpec
from gateway.stores.readings import exhausted, provisional, readings, window


def test_a_window_is_named_by_its_model_or_the_account_its_dimension_and_its_seconds() -> None:
    assert window("gpt-4o", "tokens", 60) == "gpt-4o:tokens:60"
    assert window("gpt-4o", "requests", 86_400.0, "account") == "*:requests:86400"
    assert window("gpt-4o", "concurrency", 60) == "gpt-4o:concurrency:0"
    assert window("gpt-4o", "requests", None) == "gpt-4o:requests:60"


@pytest.mark.parametrize(
    ("reading", "kept"),
    [
        (
            Reading("tokens", 60, 1000, 900.5, 6.0001, "bucket"),
            WindowReading("m:tokens:60", 900.5, 1000, "bucket", 60_000, 6001),
        ),
        (
            Reading("requests", 86_400, 100, 9, None, "fixed", "account"),
            WindowReading("*:requests:86400", 9, 100, "fixed", 86_400_000),
        ),
        (Reading("requests", 60, None, 5), WindowReading("m:requests:60", 5)),
        (
            Reading("concurrency", None, 8, 2),
            WindowReading("m:concurrency:0", 2, 8, "gauge", 0),
        ),
    ],
)
def test_a_reading_says_what_its_window_becomes(reading: Reading, kept: WindowReading) -> None:
    assert readings(Told((reading,)), "m") == [kept]


def test_what_only_tells_a_part_or_a_reset_is_not_for_the_ledger() -> None:
    told = Told((Reading("tokens", 18_000, reset_s=5.0, used=0.4), Reading("requests", 60)))

    assert readings(told, "m") == []


def test_the_window_that_a_refusal_was_for_is_found_among_its_readings() -> None:
    day = Reading("requests", 86_400, 50, 0, 10.0, "fixed", "account")

    assert exhausted(Told((day,), exhausted=("requests", None)), "m") == "*:requests:86400"
    assert exhausted(Told((day,), exhausted=("requests", 86_400)), "m") == "*:requests:86400"
    assert exhausted(Told((day,), exhausted=("tokens", 60)), "m") == "m:tokens:60"
    assert exhausted(Told((day,), exhausted=("concurrency", None)), "m") == "m:concurrency:0"
    assert exhausted(Told((day,)), "m") is None


def test_a_window_that_was_learned_is_empty_and_gives_way_to_a_better_one() -> None:
    assert provisional(Learned("tokens", 3400, 60), "m") == WindowSpec(
        "m:tokens:60", "bucket", 3400, period_ms=60_000, level=0, provisional=True
    )
    assert provisional(Learned("concurrency", 5, 0), "m") == WindowSpec(
        "m:concurrency:0", "gauge", 5, provisional=True
    )
