from __future__ import annotations

import pytest
from typer.testing import CliRunner

from gateway.cli import main
from techniques import catalog
from techniques.core.registry import load

CARDS = load(catalog)


def told(*arguments: str) -> str:
    result = CliRunner().invoke(main, ["techniques", *arguments])
    assert result.exit_code == 0
    return result.output


def test_every_technique_is_listed_with_its_calls() -> None:
    lines = told().splitlines()

    for name, card in CARDS.items():
        assert any(line.partition(" ")[0] == name for line in lines)
        assert name != card.name or card.traits.typical in " ".join(map(str.strip, lines))


@pytest.mark.parametrize("name", CARDS)
def test_one_technique_is_told_with_its_options_and_when_not_to_use_it(name: str) -> None:
    card = CARDS[name]
    text = " ".join(told(name).split())

    assert card.summary in text
    assert card.traits.avoid in text
    for option, field in card.options.model_fields.items():
        assert f"{option}:" in text
        assert field.description is not None
        assert field.description in text


def test_a_technique_that_there_is_not_is_an_error_that_names_those_that_there_are() -> None:
    result = CliRunner().invoke(main, ["techniques", "telepathy"])

    assert result.exit_code == 2
    assert "self_consistency" in result.stderr
