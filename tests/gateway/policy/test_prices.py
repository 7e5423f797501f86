from __future__ import annotations

from collections import UserDict
from collections.abc import ItemsView
from dataclasses import replace
from datetime import date

import pytest

from gateway.config import Config
from gateway.policy.prices import Prices, prices_of
from gateway.upstream.simulated.settings import EMBEDDERS
from pricing.book import Book
from pricing.price import Price
from pricing.table import Origin, RowRecord, Table
from techniques.core.json import Json

OPENAI = "https://api.openai.com/v1"
LISTED = Table(
    Origin("listed"),
    [
        RowRecord.model_validate({"provider": owner, "model": "gpt-x", "input": rate, "output": 4})
        for owner, rate in (("openai", 1), ("azure", 2), ("mine", 3))
    ],
)
BOOK = Book(
    own=[Table(Origin("own"), [row for row in LISTED.rows if row.provider == "mine"])],
    tables=[LISTED],
    addresses={
        "openai": r"https://api\.openai\.com",
        "azure": r"https://[^.]+\.openai\.azure\.com",
    },
)


def price(
    model: str = "gpt-x", base_url: str = OPENAI, name: str = "oa", **row: Json
) -> Price | None:
    account: dict[str, Json] = {"dialect": "openai_chat", "base_url": base_url}
    if "priced_as" in row:
        account["priced_as"] = row.pop("priced_as")
    if row.pop("simulated", False):
        account = {"dialect": "openai_chat", "simulated": {}}
    made = Config.model_validate(
        {"providers": {name: account}, "models": [{"name": "m", "provider": name, **row}]}
    )
    return Prices(BOOK, date(2026, 11, 30)).of(made.models[0], made.providers[name], model)


def rate(found: Price | None) -> int | None:
    return None if found is None else found.input // 1_000_000


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        (OPENAI, 1),
        ("https://eu.openai.azure.com/openai/v1", 2),
        ("https://relay.example/v1", None),
        ("http://127.0.0.1:8000/v1", None),
    ],
)
def test_whose_prices_hold_is_told_by_the_address(base_url: str, expected: int | None) -> None:
    assert rate(price(base_url=base_url)) == expected


def test_an_operator_says_whose_prices_hold_where_the_address_does_not_tell() -> None:
    assert rate(price(base_url="https://relay.example/v1", priced_as="azure")) == 2
    assert price(priced_as="none") is None


def test_a_price_of_an_accounts_own_counts_before_its_providers() -> None:
    found = price(name="mine")

    assert found is not None
    assert (found.name, found.source) == ("own:mine/gpt-x", "operator")


def test_what_stands_beside_a_model_counts_before_all() -> None:
    stated: Json = {"input": 9, "output": 9, "modes": {"flex": {"input": 5, "output": 5}}}

    found = price(price=stated)

    assert found is not None
    assert (rate(found), found.name, found.source) == (9, "operator:m", "operator")
    assert [(mode, one.name) for mode, one in found.modes] == [("flex", "operator:m#flex")]


def test_power_and_simulation_have_rows_of_their_own() -> None:
    home = price(local_power={"hourly_usd": 1, "tokens_per_s": 10})
    simulated = price("sim-small", simulated=True)

    assert home is not None
    assert (home.name, home.source) == ("local_power:m", "local_power")
    assert simulated is not None
    assert (simulated.name, simulated.source) == ("simulated:sim-small", "operator")
    assert price("gpt-x", simulated=True) is None
    for name in EMBEDDERS:
        embedder = price(name, simulated=True)
        assert embedder is not None
        assert embedder.name == f"simulated:{name}"


def test_a_name_for_many_has_no_price_itself() -> None:
    assert price("gpt-*") is None


def test_what_was_looked_up_is_remembered() -> None:
    made = Config.model_validate(
        {
            "providers": {"oa": {"dialect": "openai_chat", "base_url": OPENAI}},
            "models": [{"name": "gpt-*", "provider": "oa"}],
        }
    )
    by_name = prices_of(made).by_name(made.models[0], made.providers["oa"])

    found = by_name("gpt-4o-mini")

    assert found is not None
    assert found.name.endswith(":openai/gpt-4o-mini")
    assert by_name("gpt-4o-mini") is found
    assert by_name("gpt-made-up") is None


@pytest.mark.parametrize(
    ("account", "row", "read"),
    [
        ({"base_url": OPENAI}, {}, True),
        ({"base_url": OPENAI}, {"price": {"input": 1, "output": 1}}, False),
        ({"base_url": OPENAI}, {"local_power": {"hourly_usd": 1, "tokens_per_s": 9}}, False),
        ({"simulated": {}}, {}, False),
        ({"base_url": OPENAI, "priced_as": "openai"}, {"price": {"input": 1, "output": 1}}, True),
    ],
)
def test_the_book_is_read_where_there_is_something_to_look_up(
    account: Json, row: Json, *, read: bool
) -> None:
    made = Config.model_validate(
        {
            "providers": {"oa": {"dialect": "openai_chat", **account}},
            "models": [{"name": "m", "provider": "oa", **row}],
        }
    )

    assert bool(prices_of(made).book.tables) is read


class Looked(UserDict[str, str]):
    """Addresses of providers, and how often they were gone through."""

    times = 0

    def items(self) -> ItemsView[str, str]:
        self.times += 1
        return super().items()


def test_all_models_of_an_account_are_priced_by_one_look_at_its_address() -> None:
    addresses = Looked(BOOK.addresses)
    prices = Prices(replace(BOOK, addresses=addresses), date(2026, 11, 30))
    made = Config.model_validate(
        {
            "providers": {"oa": {"dialect": "openai_chat", "base_url": OPENAI}},
            "models": [{"name": f"m{n}", "provider": "oa", "model": "gpt-x"} for n in range(50)],
        }
    )

    found = [prices.of(row, made.providers["oa"], "gpt-x") for row in made.models]

    assert [rate(one) for one in found] == [1] * 50
    assert addresses.times == 1
