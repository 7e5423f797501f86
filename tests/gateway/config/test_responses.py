from __future__ import annotations

import pytest
from pydantic import ValidationError

from gateway.config import Config
from gateway.config.lasting import kept
from gateway.config.responses import ResponsesConfig
from techniques.core.json import Json


def stated(**responses: Json) -> Config:
    return Config.model_validate({"responses": responses})


def test_nothing_is_kept_that_nobody_asked_for() -> None:
    assert Config().responses == ResponsesConfig(store="off", retention=30 * 86_400)


@pytest.mark.parametrize(("word", "store"), [("on", "on"), (True, "on"), (False, "off")])
def test_yaml_reads_on_and_off_as_truth(word: Json, store: str) -> None:
    assert stated(store=word).responses.store == store


def test_it_is_said_for_how_long_and_how_much_with_units() -> None:
    read = stated(retention="12h", max_size="1MiB").responses
    assert (read.retention, read.max_size) == (43_200, 2**20)


@pytest.mark.parametrize(
    "wrong", [{"store": "yes"}, {"retention": 0}, {"max_size": 10}, {"per_key": 0}, {"other": 1}]
)
def test_what_cannot_be_is_refused(wrong: Json) -> None:
    with pytest.raises(ValidationError):
        stated(**wrong)


def test_they_are_kept_in_a_database_or_not_at_all() -> None:
    without: Json = {"database": {"url": "none"}, "responses": {"store": "on"}}
    with pytest.raises(ValidationError, match=r"responses\.store: on needs a database\.url"):
        Config.model_validate(without)


def test_all_of_it_changes_without_a_restart() -> None:
    now = stated(store="on", retention="1h", max_size="1MiB", per_key=5)
    served, waiting = kept(now, stated())
    assert (served.responses, waiting) == (now.responses, [])
