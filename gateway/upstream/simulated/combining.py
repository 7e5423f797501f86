"""Plays the writer who makes one answer of several drafts, and the critic who reads them first.

The drafts stand between ``<<tag draft A>>`` and ``<<end tag>>`` at the end of the conversation, as
``techniques.parts`` writes them.
"""

from __future__ import annotations

import re

import orjson

from gateway.upstream.simulated import grading, solving
from gateway.upstream.simulated.asked import Asked
from gateway.upstream.simulated.dice import Dice
from gateway.upstream.simulated.judging import asked_in, fenced
from gateway.upstream.simulated.pieces import Draft
from gateway.upstream.simulated.settings import SimulatedModel
from techniques.parts.markers import sentences

_TASK = re.compile(r"\n*Below are \d+ drafts of an answer")
_WANTS_REMARKS = '{"remarks":'


def draft(asked: Asked, model: SimulatedModel, dice: Dice) -> Draft | None:
    """Return what *asked* wants of its drafts, None if it shows none.

    The best draft is missed as often as the model's verdicts are wrong.
    """
    material = fenced(asked.last_user)
    drafts = {name: text for name, text in material if name.startswith("draft ")}
    if not drafts:
        return None
    errs = dice.happens("verdict error", model.judge_error_rate)
    if _WANTS_REMARKS in asked.last_user:
        return Draft(_remarks(asked_in(material), drafts, errs=errs))
    question = _TASK.split(asked.last_user)[0]
    return Draft(_combined(question, list(drafts.values()), dice if errs else None))


def _combined(question: str, drafts: list[str], misled: Dice | None) -> str:
    right = [text for text in drafts if grading.is_right(question, text)] or drafts
    chosen = misled.pick("draft", drafts) if misled else right[0]
    if solving.solve(question) is not None or chosen.lstrip().startswith(("{", "[")):
        return chosen
    others = (sentence for text in drafts for sentence in sentences(text))
    added = next((sentence for sentence in others if sentence not in chosen), "")
    return f"{chosen.rstrip()} {added}".rstrip()


def _remarks(question: str, drafts: dict[str, str], *, errs: bool) -> str:
    remarks = [
        f"{name[0].upper()}{name[1:].split(' (')[0]}: its result does not hold."
        for name, text in drafts.items()
        if grading.is_right(question, text) == errs
    ]
    return orjson.dumps({"remarks": remarks}).decode()
