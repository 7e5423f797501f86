from __future__ import annotations

from decimal import Decimal

import pytest
from pydantic import ValidationError

from gateway.config import Config
from techniques.core.json import Json

HASH = "hmac-sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("written", "used"),
    [
        ("sqlite:///lockgate.db", "sqlite+aiosqlite:///lockgate.db"),
        ("sqlite+aiosqlite:////var/x.db", "sqlite+aiosqlite:////var/x.db"),
        ("postgresql://u:p@h/x", "postgresql+asyncpg://u:p@h/x"),
        ("postgresql+asyncpg://h/x", "postgresql+asyncpg://h/x"),
        ("none", "none"),
        (None, "none"),
    ],
)
def test_a_database_is_named_with_or_without_its_driver(written: str | None, used: str) -> None:
    assert Config.model_validate({"database": {"url": written}}).database.url == used


@pytest.mark.parametrize(
    "url", ["mysql://h/x", "lockgate.db", "sqlite://", "sqlite:///", "sqlite:///:memory:", ""]
)
def test_what_is_no_database_that_lasts_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="write sqlite:///PATH"):
        Config.model_validate({"database": {"url": url}})


def test_without_a_word_it_is_a_file() -> None:
    assert Config().database.url == "sqlite+aiosqlite:///lockgate.db"
    assert Config().database.kept


def test_a_key_has_one_budget_or_several_each_over_a_period_of_its_own() -> None:
    row = {
        "name": "k",
        "hash": HASH,
        "budget": {"usd": 5},
        "budgets": [{"usd": 1, "period": "day"}],
    }
    (key,) = Config.model_validate({"keys": [row]}).keys

    assert [(b.usd, b.period) for b in key.all_budgets] == [
        (Decimal(5), "month"),
        (Decimal(1), "day"),
    ]


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"keys": [{"budget": {"usd": 1}, "budgets": [{"usd": 2}]}]}, "same period, 'month'"),
        ({"keys": [{"budget": {"usd": 1, "tz": "Mars/Base"}}]}, "no time zone 'Mars/Base'"),
        ({"keys": [{"budget": {"usd": 1, "tz": "../../etc/passwd"}}]}, "no time zone"),
        ({"keys": [{"team": "none"}]}, "there is no team 'none'"),
        ({"keys": [{"name": "*"}]}, "stands for all keys"),
        ({"keys": [{"weight": 0}]}, "greater than 0"),
        ({"teams": [{"name": "t"}, {"name": "t"}]}, "two have the same name, 't'"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    sections: dict[str, list[Json]], message: str
) -> None:
    keys = [{"name": "k", "hash": HASH, **row} for row in sections.get("keys", [])]

    with pytest.raises(ValidationError, match=message.replace("*", r"\*")):
        Config.model_validate({**sections, "keys": keys})


@pytest.mark.parametrize(
    "url",
    [
        "redis://h:6379/0",
        "rediss://u:p@h",
        "unix:///run/redis.sock",
        "redis://:p@a:1,redis://:p@b:2",
    ],
)
def test_a_store_is_named_by_its_address(url: str) -> None:
    stated = Config.model_validate({"store": {"redis": url}}).store.redis

    assert stated is not None
    assert stated.get_secret_value() == url


@pytest.mark.parametrize(
    "url", ["h:6379", "127.0.0.1:6379", "", "http://h", "redis://", "redis://h:x", "redis://a,b:1"]
)
def test_what_is_no_address_of_a_store_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="write redis://HOST:PORT/0"):
        Config.model_validate({"store": {"redis": url}})
