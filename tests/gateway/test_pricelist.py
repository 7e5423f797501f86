from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from gateway.config import Config
from gateway.preflight import faults, remarks
from gateway.pricelist import guesses, price_list, price_remarks
from gateway.tabling import price_table
from pricing.files import SHIPPED, FileRecord, written
from techniques.core.json import Json
from tests.gateway.test_preflight import SECRETS

PROVIDERS: dict[str, Json] = {
    "oa": {"dialect": "openai_chat", "base_url": "https://api.openai.com/v1"},
    "home": {"dialect": "openai_chat", "base_url": "http://127.0.0.1:8000/v1"},
    "sim": {"dialect": "openai_chat", "simulated": {}},
}


def config(*models: Json, **pricing: Json) -> Config:
    rows = [{"name": name, "provider": provider, **more} for name, provider, more in models]
    return Config.model_validate({"providers": PROVIDERS, "models": rows, "pricing": pricing})


MANY: tuple[Json, ...] = (
    ("stated", "oa", {"price": {"input": 1, "output": "2.5"}}),
    ("gpt-4o-mini", "oa", {}),
    ("gpt-*", "oa", {}),
    ("llama-8b", "home", {}),
    ("any-*", "home", {}),
    ("sim-small", "sim", {}),
)


def test_each_model_is_listed_with_its_price_and_where_that_is_from() -> None:
    rows = price_list(config(*MANY))

    assert [(row["model"], row["input"], row["output"], row["source"]) for row in rows] == [
        ("stated", "1", "2.5", "operator"),
        ("gpt-4o-mini", "0.15", "0.6", "table"),
        ("gpt-*", None, None, "by name"),
        ("llama-8b", None, None, "unknown"),
        ("any-*", None, None, "unknown"),
        ("sim-small", "0.1", "0.4", "operator"),
    ]
    assert rows[0]["row"] == "operator:stated"


def test_a_model_at_several_accounts_is_listed_at_each() -> None:
    rows = price_list(config(("gpt-4o-mini", "oa", {"accounts": ["home"]})))

    assert [(row["provider"], row["source"]) for row in rows] == [
        ("oa", "table"), ("home", "unknown"),
    ]  # fmt: skip


def test_what_has_no_price_is_remarked_on_once() -> None:
    lines = price_remarks(config(*MANY))

    assert [line.partition(": ")[0] for line in lines] == ["models.llama-8b", "models.any-*"]
    assert set(lines) <= set(remarks(config(*MANY), SECRETS))


def test_nobody_can_overlook_a_guess() -> None:
    assert guesses(config(*MANY)) == []

    made = config(*MANY, guess="record")

    first, *rest = guesses(made)
    assert first.startswith(
        "models.llama-8b: THE PRICE IS GUESSED (inferred, size:8b): 0.1 and 0.1"
    )
    assert rest == [
        f"models.{name}: prices of names that no table has ARE GUESSED"
        for name in ("gpt-*", "any-*")
    ]
    assert price_remarks(made) == []


@pytest.mark.parametrize(("as_of", "lines"), [("2026-01-01", 1), ("2999-01-01", 0)])
def test_prices_of_long_ago_are_remarked_on_where_they_are_used(
    as_of: str, lines: int, tmp_path: Path
) -> None:
    record = FileRecord.model_validate_json(SHIPPED.read_text("utf-8"))
    file = tmp_path / "old.json"
    aged = record.model_copy(update={"origin": "old", "as_of": date.fromisoformat(as_of)})
    file.write_text(written(aged))
    pricing: dict[str, Json] = {"tables": [str(file)], "shipped": False}

    found = price_remarks(config(("gpt-4o-mini", "oa", {}), **pricing))

    assert len(found) == lines
    assert all(
        line.startswith(f"pricing: prices are those that old had on {as_of}") for line in found
    )
    assert (
        price_remarks(config(("stated", "oa", {"price": {"input": 1, "output": 1}}), **pricing))
        == []
    )


def test_files_and_addresses_that_cannot_work_stop_the_start() -> None:
    missing = config(*MANY, prices="/nowhere/own.json", catalogue={"url": "ftp://x"})

    lines = faults(missing.model_copy(update={"providers": {}}), SECRETS)

    assert [line.partition(": ")[0] for line in lines] == [
        "pricing.prices",
        "pricing.catalogue.url",
    ]


def test_a_long_list_is_cut() -> None:
    rows = price_list(config(("gpt-4o-mini", "oa", {})))

    assert price_table(rows * 30).count("\n") == 31
    assert price_table(rows * 31).endswith("\nand 1 more")


@pytest.mark.parametrize(
    ("priced_as", "lines"), [("openai", 0), ("none", 0), ("opnai", 1), (None, 0)]
)
def test_an_account_priced_as_nobody_known_is_remarked_on(priced_as: Json, lines: int) -> None:
    made = config(MANY[0])
    account = made.providers["oa"].model_copy(update={"priced_as": priced_as})

    found = price_remarks(made.model_copy(update={"providers": {"oa": account}}))

    assert found == ["providers.oa.priced_as: no table has prices of 'opnai'"][:lines]
