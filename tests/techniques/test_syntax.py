from __future__ import annotations

import pytest

from techniques.core.reply import replied
from techniques.parts.syntax import parses

CODE = "def f(x):\n    return x + 1"


def fenced(code: str, language: str = "python") -> str:
    return f"Here:\n```{language}\n{code}\n```\nThat is it."


@pytest.mark.parametrize(
    "text",
    [fenced(CODE), fenced("def f(x:", ""), fenced("let x = 1;", "js"), "def f(x:", ""],
)
def test_what_is_not_said_to_be_python_need_not_be(text: str) -> None:
    assert parses(replied(text))


@pytest.mark.parametrize(
    "text",
    [
        fenced("def f(x:"),
        fenced("def f(x:", "py"),
        f"{fenced(CODE)}\n{fenced('def f(x:')}",
        "```python\ndef f(x:",
    ],
)
def test_what_is_said_to_be_python_must_be(text: str) -> None:
    assert not parses(replied(text))


@pytest.mark.parametrize(
    "code", ["-" * 15_000 + "1", "a." * 9_000 + "b", "(" * 300, "x" * 30_000, "'\\d'", "\0"]
)
def test_code_that_is_meant_to_hurt_is_looked_at_in_no_time(code: str) -> None:
    assert parses(replied(fenced(code))) in {True, False}
