"""What can be counted of a request, as numbers of about one size: what weights are learnt for."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final, get_args

from techniques.core.request import Request
from techniques.parts.answers import Expected, expect, last_ask
from techniques.parts.category import Category, CategoryName
from techniques.parts.transcript import pictures

CATEGORIES: Final[tuple[CategoryName, ...]] = get_args(CategoryName)
_UNKNOWN: Final = 0.5  # a difficulty that nothing told
_LONGEST_WORD: Final = 1.5
_LONGEST_ASK: Final = 16_000  # characters
_CHARACTERS_A_TOKEN: Final = 4
_MATH: Final = re.compile(
    r"[\u2211\u222b\u221a\u2264\u2265\u00b1]|\\(?:frac|sum|int|sqrt|begin)\b|\$[^$\n]{1,200}\$"
    r"|\d\s*[-+*/^\u00d7\u00f7\u2212=]\s*[-(]?\d"
)
_DIGIT: Final = re.compile(r"\d")
_SENTENCE_END: Final = re.compile(r"[.!?\u3002\uff1f\uff01](?:\s|$)")


def features(
    request: Request,
    category: Category,
    difficulty: float | None,
    expected: Expected | None = None,
) -> dict[str, float]:
    """Return the features of *request* by name, in the order of ``FEATURES``.

    *expected* is what ``expect`` says of it, where that was asked already. Of a very long question
    only the start is looked at.
    """
    ask, expected = last_ask(request)[:_LONGEST_ASK], expected or expect(request)
    words = ask.split()
    return {
        "bias": 1.0,
        "difficulty": _UNKNOWN if difficulty is None else difficulty,
        **{f"category_{name}": float(name == category.name) for name in CATEGORIES},
        "words": math.log1p(len(words)) / 10,
        "has_code": float(expected.text == "code"),
        "has_math": float(bool(_MATH.search(ask))),
        "has_digits": float(bool(_DIGIT.search(ask))),
        "has_question": float("?" in ask or "\uff1f" in ask),
        "sentences": math.log1p(len(_SENTENCE_END.findall(ask))) / 5,
        "word_length": _mean_length(words),
        "has_options": float(bool(expected.options)),
        **_circumstances(request),
    }


def _circumstances(request: Request) -> Mapping[str, float]:
    """Return the features of what stands around the last question."""
    characters = sum(len(turn.text) for turn in request.messages)
    return {
        "has_tools": float(bool(request.tools)),
        "has_json": float(request.response_format is not None),
        "has_image": float(bool(pictures(request))),
        "tokens": math.log1p(characters / _CHARACTERS_A_TOKEN) / 10,
        "multi_turn": float(sum(turn.role == "user" for turn in request.messages) > 1),
    }


def _mean_length(words: list[str]) -> float:
    if not words:
        return 0.0
    return min(sum(map(len, words)) / len(words) / 10, _LONGEST_WORD)


FEATURES: Final = tuple(features(Request(""), Category("qa", 0.0), None))
"""The names of all features, in the order in which they are computed."""
CONTENT: Final = frozenset(
    name
    for name in FEATURES
    if name not in {"bias", "difficulty"} and not name.startswith("category_")
)
"""Those that the request itself gives."""
