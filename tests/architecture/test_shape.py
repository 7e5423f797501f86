"""How big things may get, and what must stand beside what."""

from __future__ import annotations

from tests.architecture.source import MODULES, ROOT, functions_of, name_of

_LINES, _FUNCTION_LINES = 300, 50


def test_files_stay_short() -> None:
    lengths = {name_of(path): len(path.read_text("utf-8").splitlines()) for path in MODULES}

    assert {name: lines for name, lines in lengths.items() if lines > _LINES} == {}


def test_functions_stay_short() -> None:
    long = [
        f"{name_of(path)}: {function.name}"
        for path in MODULES
        for function in functions_of(path)
        if (function.end_lineno or 0) - function.lineno >= _FUNCTION_LINES
    ]

    assert long == []


def _stems(folder: str, pattern: str) -> set[str]:
    return {path.stem for path in (ROOT / folder).glob(pattern)}


def test_every_technique_has_tests_of_its_own() -> None:
    tested = {stem.removeprefix("test_") for stem in _stems("tests/techniques", "test_*.py")}

    assert _stems("techniques/catalog", "[!_]*.py") - tested == set()


def test_every_decision_has_its_four_parts_and_a_number_of_its_own() -> None:
    pages = sorted((ROOT / "docs/decisions").glob("*.md"))
    parts = ("## Context", "## Decision", "## Consequence", "## What would change our mind")
    lacking = [
        (page.name, part) for page in pages for part in parts if part not in page.read_text()
    ]
    numbers = [page.name[:4] for page in pages]

    assert lacking == []
    assert all(number.isdecimal() for number in numbers)
    assert len(set(numbers)) == len(pages)
