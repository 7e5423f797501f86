"""The project's own source, as the tests of its shape read it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("gateway", "router_service", "techniques", "pricing")
MODULES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(path: Path) -> str:
    """Return *path* as a test is to show it."""
    return str(path.relative_to(ROOT))


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the module at *path*, parsed."""
    return ast.parse(path.read_text(encoding="utf-8"))


def functions_of(path: Path) -> Iterator[Function]:
    """Yield every function of the module at *path*, nested ones too."""
    return (node for node in ast.walk(tree_of(path)) if isinstance(node, Function))
