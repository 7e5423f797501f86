"""No generator yields while it holds a cancel scope (PEP 789).

The scope would then enclose whatever its consumer does between two items. Ruff's ASYNC119 forbids
every context manager around a yield; a technique must be able to pass on a stream from inside
``async with channel.open(...)``, so here is the exact rule.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.source import MODULES, name_of, tree_of

_SCOPES = frozenset(
    {
        "CancelScope",
        "TaskGroup",
        "create_task_group",
        "fail_after",
        "fail_at",
        "move_on_after",
        "move_on_at",
        "task_group",
        "timeout",
    }
)


def _offences(tree: ast.AST) -> Iterator[int]:
    for function in ast.walk(tree):
        if isinstance(function, ast.AsyncFunctionDef) and not _is_context_manager(function):
            for scope in filter(_holds_scope, ast.walk(function)):
                yield from (node.lineno for node in ast.walk(scope) if isinstance(node, ast.Yield))


def _is_context_manager(function: ast.AsyncFunctionDef) -> bool:
    return any("asynccontextmanager" in ast.unparse(each) for each in function.decorator_list)


def _holds_scope(node: ast.AST) -> bool:
    if not isinstance(node, ast.With | ast.AsyncWith):
        return False
    calls = (n.func for item in node.items for n in ast.walk(item) if isinstance(n, ast.Call))
    return any(ast.unparse(call).rpartition(".")[2] in _SCOPES for call in calls)


def test_no_generator_yields_inside_a_cancel_scope() -> None:
    found = [f"{name_of(path)}:{line}" for path in MODULES for line in _offences(tree_of(path))]

    assert found == []


def test_the_rule_finds_an_offence() -> None:
    bad = "async def g():\n  async with anyio.create_task_group():\n    yield 1\n"

    assert list(_offences(ast.parse(bad))) == [3]


def test_the_rule_lets_a_context_manager_and_a_passed_on_stream_be() -> None:
    good = (
        "@asynccontextmanager\nasync def m():\n  with fail_after(1):\n    yield 1\n"
        "async def g():\n  async with channel.open(request) as events:\n    yield 1\n"
    )

    assert list(_offences(ast.parse(good))) == []
