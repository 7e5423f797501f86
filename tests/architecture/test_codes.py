"""Every code that a client may see is in the one list of its kind, and every list is used."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from docs.failures import ERRORS
from techniques.core.codes import WARNINGS
from tests.architecture.source import MODULES, tree_of

WARNERS = ("Warned", "warn", "note", "drop")


def calls() -> Iterator[ast.Call]:
    """Yield every call in the project's source, without the simulation of providers."""
    for path in MODULES:
        if "simulated" not in path.parts:
            yield from (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call))


def called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def words(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Constant(str(word)):
            yield word
        case ast.IfExp():
            yield from (*words(node.body), *words(node.orelse))
        case _:
            pass  # a code that is handed on: it was given elsewhere


def test_the_list_of_warnings_is_whole_and_has_none_that_is_never_given() -> None:
    given = {
        word
        for call in calls()
        if called(call) in WARNERS and call.args
        for word in words(call.args[0])
    }

    assert given == WARNINGS.keys()


def test_the_codes_of_warnings_are_in_order() -> None:
    assert list(WARNINGS) == sorted(WARNINGS)


def test_every_code_of_an_error_is_in_the_table_of_failures() -> None:
    given = {
        word
        for call in calls()
        for keyword in call.keywords
        if keyword.arg == "code" and called(call) != "Said"
        for word in words(keyword.value)
    }

    assert given == {error.code for _, error in ERRORS if error.code != type(error).default_code}
