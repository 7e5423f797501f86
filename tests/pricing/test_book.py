from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from pricing.book import Book, Guess, Wanted
from pricing.price import Price
from pricing.table import Origin, RowRecord, Table

DAY = date(2026, 11, 30)


def table(name: str, *rows: tuple[str, str, int], **fields: Any) -> Table:
    return Table(
        Origin(name),
        [
            RowRecord.model_validate(
                {"provider": owner, "model": model, "input": rate, "output": rate, **fields}
            )
            for owner, model, rate in rows
        ],
    )


BOOK = Book(
    own=[table("own", ("p", "a", 1), ("account", "b", 2), ("p", "b", 3))],
    catalogues=[table("live", ("p", "a", 4), ("p", "b", 4), ("p", "c", 4), ("p", "big-70b", 40))],
    tables=[
        table("imported", ("p", "d", 5)),
        table("shipped", ("p", "c", 6), ("p", "d", 6), ("p", "e", 6), ("q", "only-q", 6)),
    ],
)


def price(model: str, book: Book = BOOK, provider: str | None = "p") -> Price | None:
    return book.price(Wanted(provider, model, "account"), DAY)


def guessed(model: str, book: Book = BOOK, provider: str | None = "p") -> Price:
    found = price(model, replace(book, guess="record"), provider)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("model", "name", "source"),
    [
        ("a", "own:p/a", "operator"),
        ("b", "own:account/b", "operator"),
        ("c", "live:p/c", "catalogue"),
        ("d", "imported:p/d", "table"),
        ("e", "shipped:p/e", "table"),
        ("e-2026-01-01", "shipped:p/e", "table"),
        ("p/e", "shipped:p/e", "table"),
    ],
)
def test_the_operators_word_comes_first_then_what_is_fetched_then_what_is_kept(
    model: str, name: str, source: str
) -> None:
    found = price(model)

    assert found is not None
    assert (found.name, found.source, found.firm) == (name, source, True)


@pytest.mark.parametrize(("provider", "model"), [("p", "only-q"), ("p", "q/only-q"), (None, "e")])
def test_a_provider_is_a_hard_constraint(provider: str | None, model: str) -> None:
    assert price(model, provider=provider) is None
    assert guessed(model, provider=provider).source == "default"


def test_an_accounts_own_prices_hold_though_nobody_knows_its_provider() -> None:
    found = price("b", provider=None)

    assert found is not None
    assert found.name == "own:account/b"


def test_nothing_is_guessed_unless_it_may_be() -> None:
    assert [price(name) for name in ("z", "z-7b", "big-72b", "e-more", "ft:e:o::i")] == [None] * 5


@pytest.mark.parametrize(
    ("model", "name", "source"),
    [
        ("big-72b", "live:p/big-70b", "catalogue_fuzzy"),
        ("big-84b", "live:p/big-70b", "catalogue_fuzzy"),
        ("big-57b", "size:57b", "inferred"),
        ("large-70b", "size:70b", "inferred"),
        ("e-more", "shipped:p/e", "inferred"),
        ("e-more-2026-01-01", "shipped:p/e", "inferred"),
        ("ft:e:o::i", "shipped:p/e", "inferred"),
        ("z-3b", "size:3b", "inferred"),
        ("z-141b", "default", "default"),
        ("z", "default", "default"),
    ],
)
def test_a_guess_says_what_it_was_made_from(model: str, name: str, source: str) -> None:
    found = guessed(model)

    assert (found.name, found.source) == (name, source)


@pytest.mark.parametrize(("guess", "firm"), [("record", False), ("budget", True)])
def test_limits_in_money_rely_on_guesses_only_where_the_operator_says_so(
    guess: Guess, *, firm: bool
) -> None:
    book = replace(BOOK, guess=guess)

    assert [found.firm for name in ("a", "e-more", "z") if (found := price(name, book))] == [
        True, firm, firm,
    ]  # fmt: skip


def test_the_nearest_of_a_family_is_taken_and_no_cheaper_variant() -> None:
    live = table(
        "live", ("p", "m-60b", 1), ("p", "m-68b", 2), ("p", "m-80b", 3), ("p", "m-70b:free", 0)
    )

    assert guessed("m-70b", Book(catalogues=[live])).name == "live:p/m-68b"


def test_of_several_beginnings_the_longest_counts_and_none_of_another_size() -> None:
    kept = table("t", ("p", "m", 1), ("p", "m-pro", 2), ("p", "m-pro-8b", 3))

    assert guessed("m-pro-new", Book(tables=[kept])).name == "t:p/m-pro"
    assert guessed("m-pro-8b-new", Book(tables=[kept])).name == "t:p/m-pro-8b"
    assert guessed("m-9b", Book(tables=[kept])).name == "t:p/m"


def test_a_fine_tuned_model_that_stands_in_a_table_has_its_own_price() -> None:
    kept = table("t", ("p", "m", 1), ("p", "ft:m", 2))
    found = price("ft:m-2024-07-18:org::id", Book(tables=[kept]))

    assert found is not None
    assert (found.name, found.source) == ("t:p/ft:m", "table")


def test_the_price_of_a_base_is_said_to_be_that() -> None:
    assert guessed("ft:e:o::i").caveats == ("fine_tune_at_base_rate",)


def test_what_a_price_becomes_has_the_same_source() -> None:
    rows = [
        *table("own", ("p", "m", 1)).rows,
        *table("own", ("p", "m", 2), **{"from": "2027-01-01"}).rows,
    ]
    found = price("m", Book(own=[Table(Origin("own"), rows)]))

    assert found is not None
    assert found.source == "operator"
    assert found.then is not None
    assert (found.then.source, found.then.input) == ("operator", 2_000_000)


def test_an_address_tells_whose_prices_hold_there() -> None:
    book = Book(addresses={"p": r"https://api\.p\.com", "q": r"https://[^/]+\.q\.com"})

    assert book.provider_at("https://api.p.com/v1") == "p"
    assert book.provider_at("https://eu.q.com") == "q"
    assert book.provider_at("http://127.0.0.1:8000/v1") is None
    assert book.provider_at("") is None
    assert book.provider_at("https://API.P.com:443/v1") == "p"
    assert book.provider_at("https://api.p.com.example/v1") is None
    assert book.provider_at("https://api.p.company/v1") is None
