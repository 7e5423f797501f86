from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.policy.models import Catalogue
from pricing.price import Price
from techniques.core.errors import UnknownModel
from tests.gateway.planning.scene import model

CATALOGUE = Catalogue(
    [
        model("fast", served_as="gpt-4o-mini"),
        model("gpt-*"),
        model("gpt-4*", price=None),
        model("gpt-4o-own"),
    ]
)


@pytest.mark.parametrize(
    ("asked", "row", "upstream"),
    [
        ("fast", "fast", "gpt-4o-mini"),
        ("gpt-5", "gpt-*", "gpt-5"),
        ("gpt-", "gpt-*", "gpt-"),
        ("gpt-4o", "gpt-4*", "gpt-4o"),
        ("gpt-4o-own", "gpt-4*", "gpt-4o-own"),
        ("gpt-4o-ownx", "gpt-4*", "gpt-4o-ownx"),
        ("gpt-ünï/x:1", "gpt-*", "gpt-ünï/x:1"),
    ],
)
def test_a_name_is_that_of_a_model_or_begins_like_one_the_longest_first(
    asked: str, row: str, upstream: str
) -> None:
    found = CATALOGUE.find(asked)

    expected = "gpt-4o-own" if asked == "gpt-4o-own" else row
    assert (found.name, found.target.model, found.target.shown) == (expected, upstream, asked)


@pytest.mark.parametrize(
    ("asked", "upstream"),
    [
        ("openai/gpt-4o", "gpt-4o"),
        ("openai/ft:a/b", "ft:a/b"),
        ("meta/llama", "meta-llama/llama"),
        ("meta/", "meta-llama/"),
        ("cheap-today", "gpt-4o-mini"),
    ],
)
def test_a_beginning_can_be_another_at_the_provider(asked: str, upstream: str) -> None:
    here = model("openai/*", served_as="*")
    accounts = (replace(here, others=(here,)), model("meta/*", served_as="meta-llama/*"))
    found = Catalogue([*accounts, model("cheap-*", served_as="gpt-4o-mini")]).find(asked)

    assert (found.target.model, found.target.shown) == (upstream, asked)
    assert [(it.target.model, it.target.shown) for it in found.others] in ([], [(upstream, asked)])


def test_what_stands_for_a_star_is_not_nothing() -> None:
    with pytest.raises(UnknownModel):
        Catalogue([model("openai/*", served_as="*")]).find("openai/")


def test_a_price_is_that_of_the_providers_name() -> None:
    here = replace(model("openai/*", served_as="*"), priced={"gpt-a": Price(1, 1)}.get)

    assert Catalogue([here]).find("openai/gpt-a").price == Price(1, 1)


def test_a_model_found_by_its_beginning_is_otherwise_the_configured_one() -> None:
    assert CATALOGUE.find("gpt-4o").price is None
    assert CATALOGUE.find("gpt-5").price is not None


def test_each_name_that_one_stands_for_has_a_price_of_its_own() -> None:
    prices = {"gpt-a": Price(1, 1), "gpt-b": Price(2, 2)}
    many = replace(model("gpt-*", price=None), priced=prices.get)
    catalogue = Catalogue([replace(many, others=(many,))])

    assert [catalogue.find(name).price for name in ("gpt-a", "gpt-b", "gpt-c")] == [
        Price(1, 1), Price(2, 2), None,
    ]  # fmt: skip
    assert catalogue.find("gpt-b").others[0].price == Price(2, 2)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "slow",
        "Fast",
        "gpt",
        "gpt-*",
        "gpt-4*",
        "gpt-x*",
        "gpt-\n",
        "gpt-a b",
        "gpt-../admin",
        "gpt-x?y",
        "gpt-x#y",
        "gpt-%2e",
        "gpt-\\",
        "gpt-" + "x" * 125,
    ],
)
def test_other_names_are_unknown(name: str) -> None:
    with pytest.raises(UnknownModel) as caught:
        CATALOGUE.find(name)

    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")
    assert len(caught.value.message) < 700


def test_models_can_be_listed_and_labels_are_the_configured_names() -> None:
    assert list(CATALOGUE.named()) == ["fast", "gpt-4o-own"]
    assert CATALOGUE.labels() == ("fast", "gpt-*", "gpt-4*", "gpt-4o-own")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("fast:latest", "fast"),
        ("llama", "llama:latest"),
        ("llama:latest", "llama:latest"),
        ("both", "both"),
        ("both:latest", "both:latest"),
        ("gpt-5:latest", "gpt-*"),
    ],
)
def test_no_tag_means_the_latest_where_no_model_is_called_just_so(asked: str, found: str) -> None:
    names = ("fast", "llama:latest", "both", "both:latest", "gpt-*")
    catalogue = Catalogue([model(name) for name in names])

    assert catalogue.find(asked).name == found
    assert catalogue.label(f"cisc/{asked}") == found


@pytest.mark.parametrize("asked", ["gpt-*:latest", "fast:latest:latest", "fast:8b", ":latest"])
def test_another_tag_is_another_model(asked: str) -> None:
    with pytest.raises(UnknownModel) as unknown:
        Catalogue([model("fast"), model("gpt-*")]).find(asked)

    assert unknown.value.name == asked
