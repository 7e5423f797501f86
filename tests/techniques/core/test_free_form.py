"""Tools that take free text, as functions of one text."""

from __future__ import annotations

import pytest

from techniques.core.free_form import is_free_form, parameters, unwrapped, wrapped


@pytest.mark.parametrize("text", ["", "a", 'a"b\\n\n', "{}", '{"input":"x"}', "\u2028é"])
def test_a_text_comes_back_as_it_was(text: str) -> None:
    assert unwrapped(wrapped(text)) == text


@pytest.mark.parametrize("written", ["", "a", "[1]", "{}", '{"input":1}', '{"input":'])
def test_arguments_that_carry_no_text_stay_as_they_are(written: str) -> None:
    assert unwrapped(written) == written


def test_a_grammar_is_told_in_words() -> None:
    grammar = {"type": "grammar", "syntax": "regex", "definition": "[a-z]+"}

    told = parameters(grammar)["properties"]["input"]["description"]
    plain = parameters({"type": "text"})["properties"]["input"]["description"]

    assert "regex grammar:\n[a-z]+" in told
    assert "grammar" not in plain
    assert parameters(None)["required"] == ["input"]


def test_what_is_free_form_says_so() -> None:
    assert is_free_form({"type": "custom", "format": {}})
    assert not is_free_form({"defer_loading": True})
