"""Plays a model that is asked how sure it is: in a line of its answer, or after it."""

from __future__ import annotations

import re
from typing import Final

from gateway.upstream.simulated import grading, solving
from gateway.upstream.simulated.asked import Asked
from gateway.upstream.simulated.dice import Dice
from gateway.upstream.simulated.pieces import Draft
from gateway.upstream.simulated.settings import SimulatedModel

_WANTS_LINE = re.compile(r"\bconfidence: *(?:n|<|\[|\.\.\.)", re.IGNORECASE)
_WANTS_DIGIT = re.compile(
    r"\breply with (?:one|a single) digit\b.*\b1 if .*\b0 if ", re.IGNORECASE | re.DOTALL
)
_SURE: Final = (
    80,
    100,
)  # percent; what a model says of its right and of its wrong answers overlaps
_UNSURE: Final = (55, 100)
_LEAST: Final = 0.51
_MOST: Final = 0.99


def draft(asked: Asked, model: SimulatedModel, dice: Dice) -> Draft | None:
    """Return 1 or 0 for the model's last answer, None if *asked* does not want that.

    The side that it takes is wrong as often as the model's verdicts are.
    """
    answers = [turn.text for turn in asked.turns if turn.role == "assistant"]
    questions = [turn.text for turn in asked.turns if turn.role == "user"][:-1]
    if not answers or not questions or not _WANTS_DIGIT.search(asked.last_user):
        return None
    right = grading.is_right(solving.without_cue(questions[-1]), answers[-1])
    believed = right != dice.happens("doubt error", model.judge_error_rate)
    chance = _LEAST + (_MOST - _LEAST) * dice.fraction("doubt")
    said, other = ("1", "0") if believed else ("0", "1")
    return Draft(said, odds=((said, chance), (other, 1 - chance)))


def stated(text: str, prompt: str, dice: Dice, *, sure: bool) -> str:
    """Return *text* with a line on how sure the model is, if *prompt* asks for one."""
    if not _WANTS_LINE.search(prompt):
        return text
    low, high = _SURE if sure else _UNSURE
    percent = low + round((high - low) * dice.fraction("stated confidence"))
    return f"{text}\n\nConfidence: {percent}"
