"""What may stand in ``tool_quota`` and ``attention``."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from gateway.config import Config, ConfigError, load
from techniques.core.json import Json

HASH = "hmac-sha256:" + "0" * 64


def person(**fields: Json) -> dict[str, Json]:
    return {"name": "ana", "hash": HASH, **fields}


def complaint(**sections: Json) -> str:
    with pytest.raises(ValidationError) as refused:
        Config.model_validate(sections)
    return str(refused.value)


def test_a_quota_is_rolling_and_of_each_key_unless_it_says_otherwise() -> None:
    config = Config.model_validate({"tool_quota": {"tools": {"search": {"calls": 3}}}})

    (tool,) = config.tool_quota.tools.values()
    assert (tool.period, tool.refill, tool.per) == (60, "rolling", "key")
    assert config.tool_quota.action == "annotate"


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ({"calls": 0}, "greater than 0"),
        ({"calls": 1001}, "use continuous or fixed"),
        ({"calls": 1, "period": "8d"}, "less than or equal to 604800"),
        ({"calls": 1, "per": "team"}, "'key' or 'global'"),
        ({}, "Field required"),
    ],
)
def test_a_quota_that_cannot_be_kept_is_refused(tool: Json, why: str) -> None:
    assert why in complaint(tool_quota={"tools": {"search": tool}})


def test_a_large_quota_need_not_be_rolling() -> None:
    tool = {"calls": 10**6, "refill": "continuous"}

    config = Config.model_validate({"tool_quota": {"tools": {"search": tool}}})

    assert config.tool_quota.tools["search"].calls == 10**6


@pytest.mark.parametrize("name", ["system", "Auto", "bot", "ADMIN"])
def test_a_person_is_somebody(name: str) -> None:
    assert "nobody's name" in complaint(attention={"persons": [person(name=name)]})


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"name": ""}, "should match pattern"),
        ({"hash": "plain"}, "should match pattern"),
        ({"webhook": "https://example.com"}, "go together"),
        ({"webhook_secret": "x"}, "go together"),
        ({"asks": 0}, "greater than 0"),
    ],
)
def test_a_person_who_cannot_be_known_or_told_is_refused(fields: dict[str, Json], why: str) -> None:
    assert why in complaint(attention={"persons": [person(**fields)]})


def test_no_two_persons_have_one_name_or_token() -> None:
    twice = [person(), person(name="ben")]

    assert "two have the same name or hash" in complaint(attention={"persons": twice})


def test_a_key_is_nobodys_token() -> None:
    sections: dict[str, Json] = {
        "keys": [{"name": "app", "hash": HASH}],
        "attention": {"persons": [person()]},
    }

    assert "has the hash of a key" in complaint(**sections)


def test_the_secret_of_a_webhook_does_not_stand_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "lockgate.yaml"
    file.write_text(
        f'attention: {{persons: [{{name: ana, hash: "{HASH}", '
        "webhook: https://example.com, webhook_secret: plain}]}\n"
    )

    with pytest.raises(ConfigError) as refused:
        load(file)

    assert "attention.persons.0.webhook_secret: write secrets as" in str(refused.value)
