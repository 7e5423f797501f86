"""Every process that collects the tests finds them by the same names, and none disturbs another."""

from __future__ import annotations

import re

import pytest

from tests.architecture.source import ROOT, name_of


@pytest.mark.parametrize("packed", [b"\x1f\x8b", b"\x1f\x8c"])
def test_a_case_of_bytes_is_not_named_by_them(
    packed: bytes, request: pytest.FixtureRequest
) -> None:
    assert request.node.name.endswith(("[packed0]", "[packed1]"))
    assert packed


_SHARED = re.compile(
    r"setattr\(\s*(?:f?[\"'](?:[^\"']*\.)?|(?:\w+\.)*)(?:anyio|asyncio|time)\b\s*[.,]"
)
"""Replaces something that every thread of the process sleeps or tells the time by."""


def test_no_test_takes_time_from_what_else_runs_in_its_process() -> None:
    tests = (ROOT / "tests").rglob("*.py")
    found = {name_of(path) for path in tests if _SHARED.search(path.read_text(encoding="utf-8"))}

    assert not found, "Hand the clock or the sleep to what is tested: other threads have them too."


@pytest.mark.parametrize(
    "line",
    [
        'monkeypatch.set{}("gateway.learning.anyio.sleep", rest)',
        'monkeypatch.set{}(f"{{Learner.__module__}}.anyio.sleep", rest)',
        'monkeypatch.set{}(anyio, "sleep", rest)',
        'monkeypatch.set{}(learner.time, "monotonic", clock)',
        'monkeypatch.set{}(\n    "time.time", clock)',
    ],
)
def test_such_a_test_is_seen(line: str) -> None:
    assert _SHARED.search(line.format("attr"))
