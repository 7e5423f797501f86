"""What a prompt is about: code, reasoning, something creative, or a plain question.

No model is asked, and the same request always gets the same answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from techniques.core.request import Request
from techniques.parts.lexicon import Topic, places_of

CategoryName: TypeAlias = Literal["qa", "reasoning", "creative", "code"]

_LEAST_MARGIN: Final = 0.15  # with less between the best two it is a plain question
_NEAR: Final = 12  # words
_EARLY: Final = 5  # words
_HEAD: Final = 350  # characters; a long prompt says at its start or its end what is to be done
_TAIL: Final = 350


@dataclass(frozen=True, slots=True)
class Category:
    """What a prompt is about.

    ``confidence``, 0 to below 1, is how far it lies before the next best; ``evidence`` names the
    signals that were seen, of whatever category.
    """

    name: CategoryName
    confidence: float
    evidence: tuple[str, ...] = ()


def categorise(request: Request) -> Category:
    """Return the category of what *request* asks last.

    Where that says nothing about it ("Shorter, please"), of what its user asked before.
    """
    turns = [turn.text for turn in request.messages if turn.role == "user"]
    seen = (category_of(text) for text in reversed(turns))
    return next((category for category in seen if category.evidence), Category("qa", 0.0))


def category_of(text: str) -> Category:
    """Return the category of a prompt that is only *text*."""
    look = _Look(text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}")
    held = [signal for signal in _SIGNALS if signal.holds(look)]
    scores: dict[CategoryName, float] = {"code": 0, "reasoning": 0, "creative": 0, "qa": 0}
    for signal in held:
        for name, weight in signal.weights.items():
            scores[name] += weight
    (best, most), (_, next_best) = sorted(scores.items(), key=lambda pair: -pair[1])[:2]
    margin = (most - next_best) / (most + max(next_best, 0) + 1) if most > 0 else 0.0
    evidence = tuple(signal.name for signal in held)
    return Category(best if margin >= _LEAST_MARGIN else "qa", margin, evidence)


class _Look:
    """What there is to see in a prompt."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.asks = "?" in text or "\uff1f" in text
        self._places = places_of(text)
        self.numbers = _counted(text) + len(self._places.get("count", ()))
        self.syntax: int = _hits(text, _SYNTAX)

    def has(self, *topics: Topic) -> bool:
        return not self._places.keys().isdisjoint(topics)

    def early(self, topic: Topic) -> bool:
        """Tell whether *topic* is among the first words."""
        return self._places.get(topic, (_EARLY,))[0] < _EARLY

    def both(self, one: Topic, *others: Topic) -> bool:
        """Tell whether *one* and any of *others* stand near each other."""
        ones = self._places.get(one)
        if ones is None or not self.has(*others):
            return False
        theirs = [place for other in others for place in self._places.get(other, ())]
        return any(abs(place - its) <= _NEAR for place in ones for its in theirs if place != its)


@dataclass(frozen=True, slots=True)
class _Signal:
    """Something to see, and what it says for and against each category."""

    name: str
    weights: Mapping[CategoryName, float]
    holds: Callable[[_Look], object]


def _counted(text: str) -> int:
    """Return how many numbers *text* has; years, and digits of a name, are none."""
    found = (match for match in _NUMBER.finditer(text) if not _YEAR.fullmatch(match[0]))
    return sum(not _IN_NAME.match(text[max(match.start() - 1, 0)]) for match in found)


def _patterns(*texts: str) -> tuple[re.Pattern[str], ...]:
    """Return *texts* compiled; each begins with something that is quickly searched for."""
    return tuple(re.compile(text, re.MULTILINE) for text in texts)


def _hits(text: str, patterns: Iterable[re.Pattern[str]]) -> int:
    """Return how many of *patterns* are in *text*."""
    return len([pattern for pattern in patterns if pattern.search(text)])


_NUMBER = re.compile(r"\d[\d.,:]*(?<!\D)")
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
_IN_NAME = re.compile(r"[A-Za-z_]")
_BLOCK: Final = _patterns(
    r"```",
    r"Traceback \(",
    r"diff --git",
    r"Error\b(?<=\wError)",
    r"Exception\b(?<=\wException)",
)
_SYNTAX: Final = _patterns(
    r"def \w+\(",
    r"=>",
    r";[ \t]*(?:$|//|--)",
    r"SELECT\b",
    r"INSERT INTO\b",
    r"#include\b",
    r"\.(?:py|js|ts|java|cpp|rs|go|sh|sql|html|css|ya?ml|json|tsx|ipynb)\b",
    r"`[^`\n]+`",
    r"\(\)(?<=\w\(\))",
    r"print\(",
    r" --[a-z]{3,}",
    r"O\([\w ]{1,12}\)",
)
_MATHS: Final = _patterns(
    r"\\(?:frac|int|sum|sqrt|lim|cdot|binom|mathbb)\b",
    r"[\u2211\u222b\u221a\u2264\u2265\u2202\u2200\u2203]",
    r"[*+\u00d7\u00f7^=](?:(?<=[\da-z)].)|(?<=[\da-z)]\s.))\s?\d",
    r" [-/](?<=[\da-z)] .) \d",
)
_OPTIONS: Final = _patterns(r"A[).:](?<!\w..)\s", r"B[).:](?<!\w..)\s")

_SIGNALS: Final = (
    _Signal("code block or error", {"code": 4}, lambda look: _hits(look.text, _BLOCK)),
    _Signal("code syntax", {"code": 2}, lambda look: look.syntax),
    _Signal(
        "a program to write or mend",
        {"code": 2.5, "creative": -2},
        lambda look: look.both("mend", "tech", "program") or look.both("make", "tech", "program"),
    ),
    _Signal("programming term", {"code": 1.5}, lambda look: look.has("tech")),
    _Signal(
        "programming trouble",
        {"code": 2},
        lambda look: look.both("tech", "how", "explain", "program", "mend"),
    ),
    _Signal("more code syntax", {"code": 1.5}, lambda look: look.syntax > 1),
    _Signal("mathematical notation", {"reasoning": 3}, lambda look: _hits(look.text, _MATHS)),
    _Signal("proof or calculation", {"reasoning": 3}, lambda look: look.has("prove")),
    _Signal(
        "amount from numbers", {"reasoning": 2}, lambda look: look.has("amount") and look.numbers
    ),
    _Signal(
        "question with numbers",
        {"reasoning": 2, "qa": 0.5},
        lambda look: look.numbers > 1 and (look.asks or look.has("amount")),
    ),
    _Signal("conclusion asked for", {"reasoning": 3}, lambda look: look.has("logic")),
    _Signal(
        "options",
        {"reasoning": 1, "qa": 2},
        lambda look: _hits(look.text, _OPTIONS) > 1,
    ),
    _Signal(
        "literature to write",
        {"creative": 4},
        lambda look: look.both("make", "literature", "persona"),
    ),
    _Signal("form of literature", {"creative": 1.5}, lambda look: look.early("literature")),
    _Signal("text to write", {"creative": 2.5}, lambda look: look.both("make", "copy")),
    _Signal("role to play", {"creative": 0.5}, lambda look: look.has("persona")),
    _Signal("fact asked for", {"qa": 2}, lambda look: look.has("ask") and not look.numbers),
    _Signal(
        "explanation asked for",
        {"qa": 1.5},
        lambda look: look.has("explain") and not look.has("ask", "persona"),
    ),
)
