"""What is left of a configuration without its faults, so that no fault hides another."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Path: TypeAlias = tuple[int | str, ...]


@dataclass
class Partial:
    """The tree of a configuration, from which what is wrong is taken out.

    Attributes:
        tree: What is left.
        known: The paths of what was said to be wrong.
        lost: What tells of rows that had to be taken out as a whole: their sections, their names.
    """

    tree: dict[str, Any]
    known: list[str] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.tree = deepcopy(self.tree)

    def without(self, faults: Sequence[tuple[Path, str]]) -> bool:
        """Take out what *faults*, a path and a type each, are about; tell if that was possible."""
        wrong = {self._place(path[:-1] if kind == "missing" else path) for path, kind in faults}
        for place in sorted(wrong, key=_backwards, reverse=True):
            if not place:
                return False
            self._drop(place)
        return True

    def follows(self, line: str) -> bool:
        """Tell whether the fault in *line* may be there only because of what was taken out."""
        path = line.partition(": ")[0]
        below = any(path == known or path.startswith(f"{known}.") for known in self.known)
        return below or any(word in line for word in self.lost)

    def _place(self, path: Path) -> Path:
        """Return *path* as far as it is in the tree."""
        value: Any = self.tree
        for depth, part in enumerate(path):
            inside = part in value if isinstance(value, dict) else _has(value, part)
            if not inside:
                return path[:depth]
            value = value[part]
        return path

    def _drop(self, place: Path) -> None:
        value: Any = self.tree
        for part in place[:-1]:
            value = value[part]
        row = value.pop(place[-1])
        if len(place) == 2 and isinstance(row, dict):
            name = row.get("name") if isinstance(place[-1], int) else place[-1]
            self.lost |= {f"{place[0]}:", f"without {place[0]}", repr(name)}


def _has(value: Any, part: int | str) -> bool:
    return isinstance(value, list) and isinstance(part, int) and 0 <= part < len(value)


def _backwards(place: Path) -> tuple[tuple[bool, int, str], ...]:
    """Return what sorts later places of a list after earlier ones."""
    return tuple(
        (isinstance(part, int), part if isinstance(part, int) else 0, str(part)) for part in place
    )
