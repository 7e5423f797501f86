"""What answers are worth where a right one is known, and nothing but comparing them is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from techniques.core.reply import Reply
from techniques.core.request import Text
from techniques.parts.answers import Expected
from techniques.parts.candidates import Candidate
from techniques.parts.keys import TEXT, key_of


def grades(candidates: Sequence[Candidate], expected: Expected, reference: str) -> dict[int, float]:
    """Return 1 for each right answer and 0 for each other, by place.

    Empty where only its words could be compared: somebody must then judge.
    """
    wanted = key_of(Reply((Text(reference),)), expected)
    if wanted is None or wanted.startswith((TEXT, "code|")):
        return {}
    return {one.place: float(one.key == wanted) for one in candidates}


def gradable(expected: Expected, reference: str | None) -> bool:
    """Tell whether answers can be graded by comparing them with *reference*."""
    return reference is not None and bool(_probe(expected, reference))


def _probe(expected: Expected, reference: str) -> Mapping[int, float]:
    reply = Reply((Text(reference),))
    return grades([Candidate(0, reply, key_of(reply, expected))], expected, reference)
