"""Plays the writer of a record of the earlier part of a conversation.

What must be in it stands between ``<<tag values>>`` and ``<<end tag>>``, as ``gateway.context``
writes it.
"""

from __future__ import annotations

from gateway.upstream.simulated.asked import Asked
from gateway.upstream.simulated.dice import Dice
from gateway.upstream.simulated.judging import fenced
from gateway.upstream.simulated.pieces import Draft
from gateway.upstream.simulated.settings import SimulatedModel

_NAMES = frozenset({"sentences", "values"})


def draft(asked: Asked, model: SimulatedModel, dice: Dice) -> Draft | None:
    """Return the record that *asked* wants, None if it wants none.

    Something that must be in it is missed as often as the model errs.
    """
    material = dict(fenced(asked.last_user))
    if "conversation" not in material or not _NAMES & material.keys():
        return None
    if dice.happens("lost value", model.judge_error_rate):
        return Draft("It was talked of this and that.")
    told = " ".join(material.get("sentences", "").split("\n"))
    values = ", ".join(material.get("values", "").split("\n"))
    return Draft(f"{told} It was of {values}." if values else told)
