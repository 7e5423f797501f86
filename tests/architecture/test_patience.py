"""No test bets on its machine: how long to wait, and what is soon, is said in one place.

A deadline or an upper bound in seconds of the machine's own clock that a test makes up is one that
a busier machine passes. What is not seen here: a window that may have refilled, an order of calls.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.source import ROOT, name_of
from tests.patience import eventually

CLOCKS = {"monotonic", "perf_counter", "time"}
WAITS = {"join", "wait", "result", "communicate", "run"}
PLACE = ROOT / "tests" / "patience.py"


def _is_clock(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or node.args:
        return False
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr in CLOCKS and ast.unparse(function.value) == "time"
    return isinstance(function, ast.Name) and function.id in CLOCKS - {"time"}


def _reads_clock(node: ast.AST) -> bool:
    return any(_is_clock(part) for part in ast.walk(node))


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _is_deadline(node: ast.AST) -> bool:
    """Tell whether *node* is the time in so many seconds."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add)
        and (
            (_is_clock(node.left) and _is_number(node.right))
            or (_is_clock(node.right) and _is_number(node.left))
        )
    )


def _is_bound(node: ast.AST) -> bool:
    """Tell whether *node* says how long something took at most, by a number of its own."""
    if not isinstance(node, ast.Compare):
        return False
    sides = [node.left, *node.comparators]
    return any(
        isinstance(op, ast.Lt | ast.LtE)
        and _is_number(upper)
        and (_reads_clock(lower) or ast.unparse(lower).endswith(".took"))
        for op, lower, upper in zip(node.ops, sides, sides[1:], strict=False)
    )


def _is_wait(node: ast.AST) -> bool:
    """Tell whether *node* waits for a process or a thread, for seconds of its own."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    named = {word.arg: word.value for word in node.keywords}
    return node.func.attr in WAITS and _is_number(named.get("timeout", node))


def _is_own_timeout(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.timeout")


def bets(source: str) -> Iterator[int]:
    """Return the lines in *source* at which it bets on its machine."""
    for node in ast.walk(ast.parse(source)):
        if any(is_one(node) for is_one in (_is_deadline, _is_bound, _is_wait, _is_own_timeout)):
            yield getattr(node, "lineno", 0)


def test_no_test_says_for_itself_how_long_it_waits_or_what_is_soon() -> None:
    paths = [path for path in (ROOT / "tests").rglob("*.py") if path != PLACE]
    found = [f"{name_of(path)}:{line}" for path in paths for line in bets(path.read_text("utf-8"))]

    assert not found, "Take ``eventually``, ``PATIENCE_S``, ``SOON_S`` of tests/patience.py."


@pytest.mark.parametrize(
    "line",
    [
        "until = time.monotonic() + 20",
        "answer = post(CALL, monotonic() + 2.0)",
        "assert time.monotonic() - began < 5",
        "assert 0.1 < perf_counter() - began <= 1",
        "assert answer.took < 1",
        "process.communicate(timeout=30)",
        "subprocess.run(command, timeout=60)",
        "@pytest.mark.timeout(60)\ndef test(): ...",
    ],
)
def test_such_a_bet_is_seen(line: str) -> None:
    assert list(bets(line))


@pytest.mark.parametrize(
    "line",
    [
        "assert time.monotonic() - began < SOON_S",
        "assert time.monotonic() - began > 1",
        "assert thread_time() - began < 2",
        "assert anyio.current_time() - began < 1",
        "process.wait(PATIENCE_S)",
    ],
)
def test_what_no_load_can_change_is_none(line: str) -> None:
    assert not list(bets(line))


def test_patience_has_an_end() -> None:
    looks: list[bool] = []

    def met() -> bool:
        looks.append(len(looks) == 2)
        return looks[-1]

    assert eventually(met)
    assert looks == [False, False, True]
    assert not eventually(lambda: False, patience_s=0.0)
