from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pricing.book import Book, Wanted
from pricing.charge import CAVEATS
from pricing.files import SHIPPED, FileRecord, UnusablePrices, parsed, read, written
from pricing.table import RowRecord

ROW = {"provider": "p", "model": "m", "input": 2, "output": 8}
DAY = date(2026, 11, 30)
LISTS: dict[str, Any] = {
    "rows": [ROW],
    "ours": {"origin": "mine", "as_of": "2026-01-02", "rows": [ROW]},
    "compiler": [{"provider": "p", "model": "m", "input_per_mtok": 2, "output_per_mtok": 8}],
    "litellm": {
        "m": {
            "litellm_provider": "p",
            "input_cost_per_token": 2e-06,
            "output_cost_per_token": 8e-06,
        }
    },
    "openrouter": {"data": [{"id": "m", "pricing": {"prompt": "2e-06", "completion": "8e-06"}}]},
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_read_in_whichever_format_it_is(name: str, tmp_path: Path) -> None:
    file = tmp_path / f"{name}.json"
    file.write_text(json.dumps(LISTS[name]))

    table = read(file).table

    found = table.find("openrouter" if name == "openrouter" else "p", "m", DAY)
    assert found is not None
    assert (found.input, found.output) == (2_000_000, 8_000_000)
    owner = "openrouter" if name == "openrouter" else "p"
    assert found.name == ("mine 2026-01-02:p/m" if name == "ours" else f"{name}:{owner}/m")


def test_a_file_of_yaml_says_so_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("- {provider: p, model: m, input: 0.15, output: 8, from: 2026-01-01}")

    (row,) = read(file).table.rows

    assert (str(row.input), row.since) == ("0.15", date(2026, 1, 1))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "Expecting"),
        ("7", "neither a list of rows"),
        ('{"rows": [{"provider": "p"}]}', "rows.0.input: Field required"),
        ('{"format": "other/1"}', "lockgate-prices/1"),
        (json.dumps([{**ROW, "rate": 1}] * 12), "and 2 more"),
        ("[" * 100_000, ""),
    ],
)
def test_what_cannot_be_read_is_told_with_the_file_and_the_place(
    text: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "own.json"
    file.write_text(text)

    with pytest.raises(UnusablePrices) as caught:
        read(file)

    assert str(caught.value).startswith(str(file))
    assert said in str(caught.value)


def test_broken_yaml_and_missing_files_are_told(tmp_path: Path) -> None:
    broken = tmp_path / "own.yml"
    broken.write_text("a: [")
    for file in (broken, tmp_path / "none.json"):
        with pytest.raises(UnusablePrices):
            read(file)


def test_what_is_written_is_read_again() -> None:
    rows = (
        RowRecord.model_validate(ROW),
        RowRecord.model_validate(
            {
                **ROW,
                "names": ["n"],
                "mode": "flex",
                "from": "2026-01-01",
                "to": "2027-01-01",
                "input": "0.0375",
                "tiers": [{"over": 1000, "input": 1, "output": 2.5}],
                "caveats": ["peak_rate"],
            }
        ),
    )
    record = FileRecord(origin="o", as_of=DAY, addresses={"p": "https://p"}, rows=rows)

    text = written(record)

    assert text.count("\n") == len(rows) + 9
    again = parsed(text, "unused")
    assert again.table.rows == rows
    assert (again.table.origin.name, again.table.origin.as_of) == ("o", DAY)
    assert again.addresses == {"p": "https://p"}


def test_the_shipped_table_says_where_it_is_from_and_has_only_rows_that_can_be_charged() -> None:
    shipped = read(SHIPPED)

    assert shipped.table.origin.name == "genai-prices"
    assert shipped.table.origin.as_of is not None
    assert len(shipped.table.rows) > 1000
    assert {caveat for row in shipped.table.rows for caveat in row.caveats} <= {*CAVEATS}
    assert {"openai", "anthropic", "google", "openrouter"} <= {*shipped.addresses}


def test_the_shipped_table_has_been_written_as_it_would_be() -> None:
    text = SHIPPED.read_text("utf-8")

    assert written(FileRecord.model_validate_json(text)) == text


def test_each_model_of_the_shipped_table_is_found_at_its_own_provider_by_each_name() -> None:
    table = read(SHIPPED).table
    book = Book(tables=[table])
    assert table.origin.as_of is not None

    found = {
        (row.provider, name): book.price(Wanted(row.provider, name), table.origin.as_of)
        for row in table.rows
        for name in (row.model, *row.names)
    }

    begins = f"genai-prices {table.origin.as_of}:"
    strangers = [
        key
        for key, price in found.items()
        if price is not None and not price.name.startswith(f"{begins}{key[0]}/")
    ]
    assert strangers == []
    assert sum(price is None for price in found.values()) < len(found) / 100


@pytest.mark.parametrize(
    ("address", "provider"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://api.anthropic.com", "anthropic"),
        ("https://generativelanguage.googleapis.com/v1beta/openai", "google"),
        ("https://mine.openai.azure.com/openai/v1", "azure"),
        ("https://api.groq.com/openai/v1", "groq"),
        ("https://api.mistral.ai/v1", "mistral"),
        ("https://api.deepseek.com/v1", "deepseek"),
        ("https://api.together.xyz/v1", "together"),
        ("https://openrouter.ai/api/v1", "openrouter"),
        ("https://api.moonshot.cn/v1", "moonshotai"),
        ("https://router.huggingface.co/groq/v1", "huggingface_groq"),
        ("https://api.openai.com.example/v1", None),
        ("http://127.0.0.1:11434/v1", None),
    ],
)
def test_the_addresses_of_the_shipped_table_tell_providers(
    address: str, provider: str | None
) -> None:
    assert Book(addresses=read(SHIPPED).addresses).provider_at(address) == provider
