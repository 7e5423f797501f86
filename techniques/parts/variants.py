"""Ways to put one question, told apart only by words after it."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from techniques.core.request import Request
from techniques.parts.answers import last_ask
from techniques.parts.cue import cued

Variant: TypeAlias = Literal[
    "identity", "stepwise", "expert", "terse", "reread", "restate_then_solve", "plan_first"
]


def varied(request: Request, variant: Variant) -> Request:
    """Return *request* put in the way of *variant*.

    The words go to the end of the last user turn, so that whatever prefix a provider has cached
    stays as it was.
    """
    if variant == "identity":
        return request
    words = _WORDS[variant].format(question=last_ask(request).strip())
    return cued(request, f"\n\n{words} {_FORM}")


def fitting(variants: tuple[Variant, ...], request: Request) -> list[Variant]:
    """Return which of *variants* suit *request*, the question as it is first.

    A short answer is not asked for where the client asks for a long one.
    """
    long = bool(_LONG.search(last_ask(request)))
    return [
        "identity",
        *(one for one in variants if one != "identity" and not (long and one == "terse")),
    ]


_FORM: Final = "Keep to the language and the form that are asked for."
_WORDS: Final[dict[Variant, str]] = {
    "stepwise": "Work this out one step after the other, and check each step before the next.",
    "expert": "Answer as someone who has practised in this field for years: precisely, and wary of "
    "the mistakes that are usual here.",
    "terse": "Answer as briefly as the question allows: the result, and only what is needed to see "
    "that it is right.",
    "reread": "Read the question once more before you answer:\n\n{question}\n\n",
    "restate_then_solve": "First make clear to yourself what is given, what is asked and what is "
    "easy to overlook. Then solve it.",
    "plan_first": "First make a short plan of how to get to the answer. Then carry it out, and "
    "give the answer in full.",
}
"""``reread``: Xu et al. 2023, arXiv:2309.06275."""

_LONG = re.compile(
    r"""\b(?:detail(?:ed|s)?|in[\s-]depth|comprehensive|thorough(?:ly)?|at\s+length|long(?:er)?|lengthy
          |elaborate|extensive(?:ly)?|exhaustive|essay|report|article|story|chapter|guide|tutorial
          |(?:\d{3,}|\w+\s+hundred|\w+\s+thousand)\s+words|pages?|paragraphs|step[\s-]by[\s-]step)\b""",
    re.IGNORECASE | re.VERBOSE,
)
