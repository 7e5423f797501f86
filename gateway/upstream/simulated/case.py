"""What a model that judges is shown."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.upstream.simulated import grading
from gateway.upstream.simulated.dice import Dice
from gateway.upstream.simulated.settings import SimulatedModel


@dataclass(frozen=True, slots=True)
class Case:
    """What is to be judged: the question, the answers to it in order, and by whom.

    ``beside`` is what is held against the first answer, in order.
    """

    question: str
    answers: list[str]
    model: SimulatedModel
    dice: Dice
    beside: list[str]

    @property
    def errs(self) -> bool:
        """Whether this verdict is one of those that the model gets wrong."""
        return self.dice.happens("verdict error", self.model.judge_error_rate)

    def right(self, answer: str) -> bool:
        """Tell whether *answer* is right."""
        return grading.is_right(self.question, answer)
