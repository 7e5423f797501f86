"""A judge's view of one answer: fifteen small questions, weighed; and of two, side by side."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from techniques.core.reply import Reply
from techniques.core.request import Request
from techniques.parts.aside import Aside, Purpose
from techniques.parts.checklist import Checklist, Question
from techniques.parts.structured import object_schema, read_object
from techniques.parts.transcript import answer_shown

Side: TypeAlias = Literal["first", "second", "tie"]

_MOST_TOKENS: Final = 700


def verdict_request(aside: Aside, reply: Reply) -> Request:
    """Return the request that asks to go through the checklist for *reply*."""
    return UNAIDED.request(aside, reply)


def read_score(text: str) -> float | None:
    """Return the score, 0 to 1, that a judge's reply amounts to; None if it is unusable.

    In place of a filled checklist only a single plain number out of ten is taken, such as ``8``,
    ``8/10`` or ``I give: 8``.
    """
    filled = read_object(text)
    return _plain_score(text) if filled is None else UNAIDED.score(filled)


def preference_request(aside: Aside, first: Reply, second: Reply) -> Request:
    """Return the request that asks which answer is better."""
    answers = (
        aside.fence.around(f"answer {place}", answer_shown(reply))
        for place, reply in enumerate((first, second), 1)
    )
    return aside.request(_COMPARING, _COMPARE, aside.conversation(), *answers)


def read_preference(text: str) -> Side | None:
    """Return which answer a judge's reply prefers, None if it does not say so clearly."""
    winner = (read_object(text) or {}).get("winner")
    sides: dict[str, Side] = {"1": "first", "2": "second", "tie": "tie"}
    return sides.get(str(winner).strip().lower())


def agreed(as_given: Side | None, swapped: Side | None) -> Side:
    """Return what two verdicts say, the second given with the answers swapped.

    Judges lean to one place, so a preference that does not survive the swap is a tie.

    Source: Zheng et al. 2023, arXiv:2306.05685, section 3.4.
    """
    back: dict[Side, Side] = {"first": "second", "second": "first", "tie": "tie"}
    if as_given is None or swapped is None or as_given != back[swapped]:
        return "tie"
    return as_given


def _plain_score(text: str) -> float | None:
    bare = text.strip()
    found = _PLAIN.fullmatch(bare) if len(bare) <= _LONGEST_SCORE else None
    found = found or _AFTER_COLON.search(bare[-_LONGEST_SCORE:])
    if not found:
        return None
    score = float(found["score"])
    return score / 10 if score <= 10 else None


_LONGEST_SCORE: Final = 80  # characters: a plain score is short, and no more is looked at
_PLAIN = re.compile(
    r"(?:(?:the\s+)?(?:final\s+|overall\s+)?(?:score|rating|grade)(?:\s*(?:is|[:=]))?\s*)?"
    r"(?P<score>\d+(?:\.\d+)?)(?:\s*(?:/\s*10|out\s+of\s+10))?\s*\.?",
    re.IGNORECASE,
)
_AFTER_COLON = re.compile(
    r":\s*\**(?P<score>\d+(?:\.\d+)?)\**(?:\s*(?:/\s*10|out\s+of\s+10))?\s*\.?$", re.IGNORECASE
)

CHECKLIST: Final = {
    "n01": Question(0.08, "Is it a reply to what was asked, and not to something near it?"),
    "n02": Question(0.08, "Is every part of the request dealt with? (null: it has one part)"),
    "n03": Question(
        0.08, "Are stated limits of length, form and language kept? (null: none are stated)"
    ),
    "n04": Question(0.16, "Is its central claim or result right, as far as you know? (never null)"),
    "n05": Question(0.10, "Is it free of statements that you know to be untrue?"),
    "n06": Question(
        0.08,
        "Are all sources, names, interfaces and quotations in it real? (null: it has none)",
    ),
    "n07": Question(
        0.07, "Does it fit the documents and tool results supplied? (null: none were supplied)"
    ),
    "n08": Question(
        0.07, "Does each step follow from those before? (null: no reasoning is needed)"
    ),
    "n09": Question(0.05, "Does it agree with itself from start to end?"),
    "n10": Question(
        0.07, "Do its calculations come out, would its code run? (null: it has neither)"
    ),
    "n11": Question(0.04, "Can a reader tell beyond doubt what its result is?"),
    "n12": Question(
        0.05,
        "Is it as deep as this request needs: nothing essential gone, nothing padded? A short "
        "reply to a simple question is right.",
    ),
    "n13": Question(0.03, "Is it without repetition and filler?"),
    "n14": Question(
        0.02, "Does it admit doubt where there is real doubt? (null: there is no doubt)"
    ),
    "n15": Question(0.02, "Is it fitting in tone, and harmless?"),
}
"""What a judge is asked who knows no more than the conversation."""

_ACTIONS: Final = """\
The answer calls tools. For n01 ask whether it is the right tool for the next step; for n04 \
whether every argument is right and comes from the conversation; for n15 whether the call is \
needed and safe."""
UNAIDED: Final = Checklist("n04", CHECKLIST, _ACTIONS)

_COMPARE: Final = """\
Two answers to the last request of a conversation are given. Work the task out for yourself \
first, then say which answer serves the person who asked better. Being right counts most. Their \
order, length and layout count nothing. If neither is clearly better, it is a tie.
Reply with a JSON object only: {"winner": "1", "2" or "tie", "reason": at most 30 words}."""

_COMPARING: Final = Purpose(
    "judge",
    _MOST_TOKENS,
    object_schema(
        {"winner": {"type": "string", "enum": ["1", "2", "tie"]}, "reason": {"type": "string"}}
    ),
)
