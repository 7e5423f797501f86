from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest
from pydantic import ValidationError

from gateway.config import load
from gateway.config.pricing import PricingConfig, book_of, unreadable
from pricing.book import Wanted
from techniques.core.json import Json

DAY = date(2026, 11, 30)
BROKEN = '{"rows": 7}'


def rows(*models: str, rate: int = 2, provider: str = "openai") -> str:
    known = {"provider": provider, "input": rate, "output": rate}
    return json.dumps([{**known, "model": model} for model in models])


def stated(**fields: Json) -> PricingConfig:
    return PricingConfig.model_validate(fields)


def source(config: PricingConfig, model: str) -> str | None:
    price = book_of(config).price(Wanted("openai", model), DAY)
    return None if price is None else price.source


def test_the_shipped_table_is_used_unless_it_is_not_wanted() -> None:
    assert source(stated(), "gpt-4o-mini") == "table"
    assert source(stated(shipped=False), "gpt-4o-mini") is None
    assert book_of(stated(shipped=False)).provider_at("https://api.openai.com/v1") == "openai"


def test_files_are_asked_in_their_order(tmp_path: Path) -> None:
    own, table, live = (tmp_path / f"{name}.json" for name in ("own", "table", "live"))
    own.write_text(rows("a"))
    table.write_text(rows("a", "b", "c"))
    pricing = {"prompt": "0.000003", "completion": "0.000003"}
    live.write_text(json.dumps({"data": [{"id": f"openai/{n}", "pricing": pricing} for n in "ab"]}))
    config = stated(prices=own, tables=[table], catalogue={"file": live})

    assert [source(config, model) for model in "abcd"] == ["operator", "catalogue", "table", None]
    assert source(stated(tables=[table]), "a") == "table"


def test_a_guess_is_made_where_it_is_wanted() -> None:
    assert source(stated(guess="record"), "made-up") == "default"
    assert source(stated(), "made-up") is None


@pytest.mark.parametrize("word", [False, "off", None])
def test_a_catalogue_is_off_with_one_word(word: Json) -> None:
    assert stated(catalogue=word).catalogue is None


def test_a_catalogue_that_was_never_fetched_is_not_missed(tmp_path: Path) -> None:
    config = stated(catalogue={"url": "https://x.test/models", "cache": tmp_path / "none.json"})

    assert list(unreadable(config)) == []
    assert source(config, "gpt-4o-mini") == "table"


@pytest.mark.parametrize(
    "catalogue", [{}, {"file": "a", "url": "https://x.test"}, {"url": "https://x.test", "keep": 0}]
)
def test_a_catalogue_is_in_one_place(catalogue: Json) -> None:
    with pytest.raises(ValidationError):
        stated(catalogue=catalogue)


def test_a_file_that_cannot_be_read_is_told_with_its_setting(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text(BROKEN)
    config = stated(
        prices=broken, tables=[broken, tmp_path / "none.json"], catalogue={"file": broken}
    )

    places = [line.partition(": ")[0] for line in unreadable(config)]

    assert places == [
        "pricing.prices", "pricing.tables.0", "pricing.tables.1", "pricing.catalogue.file",
    ]  # fmt: skip
    assert source(config, "gpt-4o-mini") == "table"


def test_files_are_named_from_the_folder_of_the_configuration(tmp_path: Path) -> None:
    file = tmp_path / "lockgate.yaml"
    file.write_text(
        "pricing: {prices: own.yaml, tables: [t.json], "
        "catalogue: {url: 'https://x.test/models', cache: live.json, keep: 1d}}\n"
    )

    pricing = load(file).pricing

    assert pricing.prices == tmp_path / "own.yaml"
    assert pricing.tables == (tmp_path / "t.json",)
    assert pricing.catalogue is not None
    assert (pricing.catalogue.place, pricing.catalogue.keep) == (tmp_path / "live.json", 86_400)
