"""What is known of conversations that are slimmed, for as long as the process lives."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from gateway.context.memory import Memory
from gateway.context.rules import Rules
from gateway.context.worth import Habit, Ways

_MOST: Final = 4096


class Slimmer:
    """The cuts that are remembered, and what was learned of callers and models.

    *default* are the rules for keys that have none of their own.
    """

    def __init__(self, default: Rules | None = None) -> None:
        self.default = default or Rules()
        self.memory = Memory()
        self.ways = Ways()
        self._habits: OrderedDict[tuple[str, str, str], Habit] = OrderedDict()

    def under(self, default: Rules) -> Slimmer:
        """Return what knows, and learns, the same, with other rules."""
        other = Slimmer(default)
        other.memory, other.ways, other._habits = self.memory, self.ways, self._habits
        return other

    def habit(self, whose: str, model: str, use: str) -> Habit:
        """Return how *whose* calls of *model* under the technique *use* go of late."""
        habit = self._habits.setdefault((whose, model, use), Habit())
        self._habits.move_to_end((whose, model, use))
        if len(self._habits) > _MOST:
            self._habits.popitem(last=False)
        return habit
