"""One word for one thing, and no word that could mean anything."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import MODULES, PACKAGES, ROOT, Function, name_of, tree_of

_VAGUE = frozenset({"manager", "handler", "helper", "util", "utils", "processor", "info", "base"})
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def _words(name: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(name)}


def _names(path: Path) -> Iterator[str]:
    yield path.parent.name if path.stem == "__init__" else path.stem
    for node in ast.walk(tree_of(path)):
        if isinstance(node, Function | ast.ClassDef):
            yield node.name


def test_no_module_class_or_function_has_a_vague_name() -> None:
    named = ((name_of(path), name) for path in MODULES for name in _names(path))

    assert [f"{place}: {name}" for place, name in named if _words(name) & _VAGUE] == []


def test_a_service_is_only_the_router() -> None:
    named = {name for path in MODULES for name in _names(path) if "service" in _words(name)}

    assert named <= {"router_service"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("KeyRing", {"key", "ring"}),
        ("HTTPManager", {"http", "manager"}),
        ("_read_info", {"read", "info"}),
        ("baseline", {"baseline"}),
    ],
)
def test_names_are_read_word_by_word(name: str, words: set[str]) -> None:
    assert _words(name) == words


def test_the_packages_are_those_of_the_map() -> None:
    found = {path.parent.name for path in ROOT.glob("[!.]*/__init__.py")}

    assert found == {*PACKAGES, "bench", "tests"}
