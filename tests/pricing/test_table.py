from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from pricing.table import Origin, RowRecord, Table, row_or_none

DAY = date(2026, 11, 30)


def row(**fields: Any) -> RowRecord:
    return RowRecord.model_validate({"provider": "p", "model": "m", "output": 1, **fields})


def table(*rows: RowRecord) -> Table:
    return Table(Origin("listed", date(2026, 11, 1)), rows)


def midnight(*day: int) -> float:
    return datetime(*day, tzinfo=UTC).timestamp()  # type: ignore[misc,arg-type]


def test_a_row_is_called_by_where_it_was_taken_from_and_when() -> None:
    found = table(row(input=2)).find("p", "m", DAY)

    assert found is not None
    assert (found.name, found.source) == ("listed 2026-11-01:p/m", "table")
    assert (found.input, found.output) == (2_000_000, 1_000_000)
    assert Origin("own").row("p", "m") == "own:p/m"


def test_a_price_is_never_that_of_another_provider() -> None:
    assert table(row(input=2)).find("q", "m", DAY) is None
    assert table(row(input=2)).find("p", "n", DAY) is None


def test_a_models_own_name_comes_before_what_another_is_called_too() -> None:
    rows = table(row(model="a", names=["B", "c"], input=1), row(model="b", input=2))

    assert [found.input for name in "abc" if (found := rows.find("p", name, DAY))] == [
        1_000_000, 2_000_000, 1_000_000,
    ]  # fmt: skip
    assert sorted(rows.names("p")) == ["a", "b", "c"]
    assert rows.names("q") == []


@pytest.mark.parametrize(
    ("day", "rate"),
    [
        (date(2025, 12, 31), 1),
        (date(2026, 1, 1), 2),
        (date(2026, 5, 31), 2),
        (date(2026, 6, 1), 3),
        (date(2030, 1, 1), 3),
    ],
)
def test_the_row_that_began_last_holds(day: date, rate: int) -> None:
    rows = table(row(input=1), row(input=3, **{"from": "2026-06-01"}), row(input=2, **FROM_2026))

    found = rows.find("p", "m", day)

    assert found is not None
    assert found.input == rate * 1_000_000


FROM_2026 = {"from": "2026-01-01"}


def test_what_ends_on_a_day_holds_no_more_on_it() -> None:
    rows = table(row(input=1, **FROM_2026, to="2026-02-01"))

    assert rows.find("p", "m", date(2025, 12, 31)) is None
    assert rows.find("p", "m", date(2026, 1, 31)) is not None
    assert rows.find("p", "m", date(2026, 2, 1)) is None


def test_a_price_knows_what_it_becomes() -> None:
    rows = table(
        row(input=1),
        row(input=2, **{"from": "2027-01-01"}),
        row(input=3, **{"from": "2027-06-01"}),
        row(input=9, **{"from": "2026-01-01", "to": "2026-02-01"}),
    )

    found = rows.find("p", "m", DAY)

    assert found is not None
    assert found.until == midnight(2027, 1, 1)
    assert [found.at(moment).input for moment in (0, midnight(2027, 1, 1), 1e12)] == [
        1_000_000, 2_000_000, 3_000_000,
    ]  # fmt: skip


def test_a_price_that_ends_with_nothing_after_it_goes_on() -> None:
    found = table(row(input=1, to="2027-01-01")).find("p", "m", DAY)

    assert found is not None
    assert found.at(midnight(2028, 1, 1)).input == 1_000_000


def test_modes_begin_and_end_like_prices() -> None:
    rows = table(
        row(input=4),
        row(input=2, mode="flex", **{"from": "2027-01-01"}),
        row(input=8, mode="priority", tiers=[{"over": 1000, "input": 16, "output": 1}]),
    )

    found = rows.find("p", "m", DAY)

    assert found is not None
    assert [mode for mode, _ in found.modes] == ["priority"]
    served = found.at(midnight(2027, 1, 1)).served("flex")
    assert served is not None
    assert (served.input, served.name) == (2_000_000, "listed 2026-11-01:p/m#flex")
    dear = found.served("priority")
    assert dear is not None
    assert dear.within(1001).name == "listed 2026-11-01:p/m#priority>1000"


def test_a_mode_alone_is_no_price() -> None:
    assert table(row(input=2, mode="flex")).find("p", "m", DAY) is None


def test_what_a_row_cannot_say_goes_with_its_price() -> None:
    found = table(row(input=1, caveats=["peak_rate"])).find("p", "m", DAY)

    assert found is not None
    assert found.caveats == ("peak_rate",)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"input": -1},
        {"input": "NaN"},
        {"input": 1, "rate": 2},
        {"input": 1, "mode": "slow"},
        {"input": 1, "tiers": [{"over": 0, "input": 1, "output": 1}]},
        {"input": 1, "tiers": [{"over": n, "input": 1, "output": 1} for n in (2, 1)]},
        {"input": 1, "tiers": [{"over": n, "input": 1, "output": 1} for n in (1, 1)]},
    ],
)
def test_what_is_no_row_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        row(**fields)
    assert row_or_none({"provider": "p", "model": "m", "output": 1, **fields}) is None
