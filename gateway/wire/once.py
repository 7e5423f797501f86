"""Makes a value when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

ValueT = TypeVar("ValueT")


class Once(Generic[ValueT]):
    """What *make* returns, made once. ``functools.cache`` costs more, also who never asks."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], ValueT]) -> None:
        self._make = make
        self._made: list[ValueT] = []

    def __call__(self) -> ValueT:
        """Return the value."""
        if not self._made:
            self._made.append(self._make())
        return self._made[0]
