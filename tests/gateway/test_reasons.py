"""Whatever fails, the log has a word for why."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gateway.reasons import why_of
from gateway.stores.database.engine import DatabaseLost

SOURCES = Path(__file__).parents[2] / "gateway"


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (DatabaseLost("away"), "away"),
        (DatabaseLost(), "DatabaseLost"),
        (TimeoutError(), "TimeoutError"),
        (caused(DatabaseLost(), OSError("refused")), "refused"),
        (caused(DatabaseLost(" "), TimeoutError()), "TimeoutError"),
        (KeyError(""), "''"),
    ],
)
def test_no_reason_is_empty(error: Exception, reason: str) -> None:
    assert why_of(error) == reason


def test_no_line_of_the_log_gives_the_bare_text_of_an_error_as_its_reason() -> None:
    bare = [
        f"{file.name}:{node.lineno}"
        for file in SOURCES.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.keyword) and node.arg == "reason"
        if isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "str"
    ]

    assert bare == []
