from __future__ import annotations

import json
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace as Made
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from pricing.__main__ import commands
from pricing.files import SHIPPED, read
from pricing.refresh import changes, refreshed
from pricing.showing import lines
from pricing.table import RowRecord

OWN = [
    {"provider": "p", "model": "m", "input": 2, "output": 8, "per_request": 0.01,
     "tiers": [{"over": 1000, "input": 4, "output": 16}], "caveats": ["peak_rate"]},
    {"provider": "p", "model": "m", "input": 1, "output": 4, "mode": "flex"},
    {"provider": "p", "model": "m", "input": 3, "output": 9, "from": "2027-01-01"},
    {"provider": "q", "model": "m", "input": 7, "output": 7},
]  # fmt: skip


def run(*words: object) -> Result:
    return CliRunner().invoke(commands, [str(word) for word in words])


def test_a_price_is_shown_with_all_that_it_may_be(tmp_path: Path) -> None:
    file = tmp_path / "own.json"
    file.write_text(json.dumps(OWN))

    told = run("show", "m-2026-01-01", "--prices", file, "--provider", "p", "--on", "2026-11-30")

    assert told.exit_code == 0
    assert told.stdout.splitlines() == [
        "Dollars per million tokens; per_request and image each.",
        "row           source    mode      over  from        input  output  per_request",
        "own:p/m       operator  standard     -  -               2       8         0.01",
        "own:p/m>1000  operator  standard  1000  -               4      16            -",
        "own:p/m#flex  operator  flex         -  -               1       4            -",
        "own:p/m       operator  standard     -  2027-01-01      3       9            -",
        "own:p/m#flex  operator  flex         -  2027-01-01      1       4            -",
        "caveat: peak_rate",
    ]


def test_without_a_provider_all_that_have_the_model_are_shown(tmp_path: Path) -> None:
    file = tmp_path / "own.json"
    file.write_text(json.dumps(OWN))

    told = json.loads(run("show", "m", "--prices", file, "--on", "2027-02-01", "--json").stdout)

    assert [(row["row"], row["mode"], row["input"]) for row in told] == [
        ("own:p/m", "standard", "3"), ("own:p/m#flex", "flex", "1"), ("own:q/m", "standard", "7"),
    ]  # fmt: skip


def test_a_model_of_the_shipped_table_is_shown() -> None:
    told = run("show", "openai/gpt-4o-mini-2024-07-18", "--provider", "openai")

    assert told.exit_code == 0
    assert ":openai/gpt-4o-mini " in told.stdout


def test_an_imported_table_and_a_catalogue_count_before_the_shipped_one(tmp_path: Path) -> None:
    table, live = tmp_path / "t.json", tmp_path / "live.json"
    table.write_text(json.dumps([{**OWN[3], "provider": "openai", "model": "gpt-4o"}]))
    item = {"id": "openai/gpt-4o", "pricing": {"prompt": "0.000009", "completion": "0.000009"}}
    live.write_text(json.dumps({"data": [item]}))
    asked = ("show", "gpt-4o", "--provider", "openai", "--table", table)

    assert run(*asked).stdout.splitlines()[2].split()[:2] == ["t:openai/gpt-4o", "table"]
    assert "live:openai/gpt-4o  catalogue" in run(*asked, "--catalogue", live).stdout


def test_a_price_is_guessed_only_when_asked_to() -> None:
    asked = ("show", "made-up-7b", "--provider", "openai")

    assert run(*asked).exit_code == 2
    assert "Nobody has a price of 'made-up-7b' at openai." in run(*asked).stderr
    assert "size:7b" in run(*asked, "--guess").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "made-up"), "Nobody has a price of 'made-up'."),
        (("show", "m", "--prices", "none.json"), "none.json"),
        (("show", "m", "--on", "yesterday"), "is no day such as"),
        (("import", "litellm", "none.json"), "none.json"),
    ],
)
def test_what_cannot_be_told_says_why(words: tuple[str, ...], said: str) -> None:
    told = run(*words)

    assert told.exit_code == 2
    assert said in told.stderr


def test_the_status_tells_how_old_the_table_is() -> None:
    told = json.loads(run("status", "--json").stdout)

    as_of = read(SHIPPED).table.origin.as_of
    assert as_of is not None
    assert told["as_of"] == as_of.isoformat()
    assert told["age_days"] == (datetime.now(UTC).date() - as_of).days
    assert told["models"] <= told["rows"]
    assert run("status").stdout.split()[:2] == ["table", "as_of"]


def test_another_makers_list_becomes_a_table_with_its_source_and_day(tmp_path: Path) -> None:
    file, output = tmp_path / "theirs.json", tmp_path / "ours.json"
    rates = {"input_cost_per_token": 2e-06, "output_cost_per_token": 8e-06}
    file.write_text(json.dumps({"m": {"litellm_provider": "p", **rates}}))

    told = run("import", "litellm", file, "-o", output)

    assert told.exit_code == 0
    found = read(output).table.find("p", "m", date.max)
    assert found is not None
    assert found.name == f"litellm {datetime.now(UTC).date()}:p/m"


def test_an_empty_list_and_a_folder_that_is_not_there_are_told(tmp_path: Path) -> None:
    empty, full = tmp_path / "empty.json", tmp_path / "full.json"
    empty.write_text('{"data": []}')
    full.write_text(json.dumps(OWN))

    assert "no priced model" in run("import", "openrouter", empty).stderr
    assert "No such file" in run("import", "litellm", full, "-o", tmp_path / "no" / "x").stderr


def provider() -> Made:
    prices = Made(input_mtok=Decimal(2), output_mtok=Decimal(8))
    made = Made(id="m", match=Made(equals="m"), prices=prices, price_variants=None)
    return Made(id="p", api_pattern="https://p", models=[made])


def test_a_refresh_writes_what_the_package_knows_and_tells_what_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices.data", Made(providers=[provider()]))
    output = tmp_path / "table.json"

    first, second = run("refresh", "-o", output), run("refresh", "-o", output)

    assert "1 rows" in first.stdout
    assert "1 new, 0 gone, 0 changed" in first.stdout
    assert "0 new, 0 gone, 0 changed" in second.stdout
    assert read(output).table.find("p", "m", date.max) is not None


def test_without_the_package_a_refresh_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices.data", None)
    output = tmp_path / "table.json"

    told = run("refresh", "-o", output)

    assert told.exit_code == 2
    assert "pip install genai-prices" in told.stderr
    assert not output.exists()


def test_what_a_refresh_changes_is_counted() -> None:
    def rows(*fields: dict[str, Any]) -> list[RowRecord]:
        known = {"provider": "p", "model": "m", "input": 1, "output": 1}
        return [RowRecord.model_validate({**known, **one}) for one in fields]

    before = rows({}, {"model": "gone"}, {"mode": "flex"})
    after = rows({"input": 2}, {"mode": "flex"}, {"from": "2027-01-01"}, {"model": "new"})

    assert changes(before, after) == {"new": 2, "gone": 1, "changed": 1}
    assert changes(refreshed([provider()], date.max).rows, []) == {
        "new": 0,
        "gone": 1,
        "changed": 0,
    }


def test_numbers_stand_to_the_right_and_words_to_the_left() -> None:
    assert lines(["a", "b"], [{"a": 10, "b": "x"}, {"a": "1.5"}]) == "  a  b\n 10  x\n1.5  -"
    assert lines(["a"], []) == "a"
