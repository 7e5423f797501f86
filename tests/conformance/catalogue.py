"""Which test proves which acceptance case: ``python -m tests.conformance.catalogue --write``."""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path

import pytest

from tests.conformance.cases import AREAS, CASES, COMING, PARTLY

_HERE = Path(__file__).parent
_PAGE = _HERE.parents[1] / "docs" / "conformance.md"
_HEAD = """\
# Conformance

What other gateways have got wrong, and which test shows that this one gets it right. The tests run
the gateway as a process of its own against an upstream that plays exact bytes
(`tests/fakes/upstream.py`). After each of them it is checked that no secret was shown, nothing is
left in flight, and each call upstream has its row in the ledger.

`pytest tests/conformance -n 2` runs them. This page is written by
`python -m tests.conformance.catalogue --write`.
"""
_OLD = "docs/conformance.md is old: run python -m tests.conformance.catalogue --write\n"


class _Collected:
    """Keeps what pytest collected: by case, the names of its tests, without parameters."""

    def __init__(self) -> None:
        self.tests: dict[str, dict[str, None]] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            for marker in item.iter_markers("case"):
                name = f"{item.path.name}::{item.name.partition('[')[0]}"
                self.tests.setdefault(marker.args[0], {})[name] = None


def collected() -> dict[str, list[str]]:
    """Return the tests of each case, by its id."""
    found = _Collected()
    arguments = ["--collect-only", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", str(_HERE)]
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = pytest.main(arguments, plugins=[found])
    if code:
        raise SystemExit(output.getvalue())
    return {case: list(names) for case, names in found.tests.items()}


def page(tests: dict[str, list[str]]) -> str:
    """Return the page for *tests*.

    Raises:
        SystemExit: A test names a case that does not exist, or a case has neither test nor issue.
    """
    if unknown := sorted(set(tests) - set(CASES)):
        raise SystemExit(f"There are no cases {', '.join(unknown)}.")
    lines = [_HEAD, f"{len(tests)} of {len(CASES)} cases have tests.", ""]
    for prefix, area in AREAS.items():
        lines += [f"## {area}", "", "| case | fault | test, or the issue that brings it |"]
        lines += ["| --- | --- | --- |"]
        for case, fault in CASES.items():
            if case.partition("-")[0] == prefix:
                lines.append(f"| {case} | {fault} | {_proof(case, tests.get(case, []))} |")
        lines.append("")
    return "\n".join(lines)


def _proof(case: str, tests: list[str]) -> str:
    prefix = case.partition("-")[0]
    if not tests and prefix not in COMING:
        raise SystemExit(f"{case} has neither a test nor an issue.")
    parts = [f"`{name}`" for name in tests] or [f"issue {COMING[prefix]}"]
    if tests and case in PARTLY:
        parts.append(f"to come: {PARTLY[case]}")
    return "<br>".join(parts)


def main(arguments: list[str]) -> int:
    """Write the page, or check that it is as it would be written."""
    new = page(collected())
    if arguments == ["--write"]:
        _PAGE.parent.mkdir(exist_ok=True)
        _PAGE.write_text(new, encoding="utf-8")
        return 0
    if arguments == ["--check"]:
        if _PAGE.exists() and _PAGE.read_text(encoding="utf-8") == new:
            return 0
        sys.stderr.write(
            "docs/conformance.md is old: python -m tests.conformance.catalogue --write\n"
        )
        return 1
    sys.stderr.write("Say --write or --check.\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
