"""Whether a reply's answer is the one that is known to be right. Nothing in between.

For evaluation only: what is known to be right must never reach a model that is being evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from techniques.core.reply import Reply
from techniques.parts.answers import Expected
from techniques.parts.keys import letter, number, plain, yes_no
from techniques.parts.markers import boxed, ends, marked
from techniques.parts.numbers import quantities

MatchMode: TypeAlias = Literal["exact_letter", "numeric", "yes_no", "relaxed", "exact_match"]

_EXACT: Final = Fraction(1, 10**9)
_RELAXED: Final = Fraction(1, 20)
_TAIL: Final = 200  # characters: an answer that is only named on the way does not count


def matches(mode: MatchMode, reply: Reply, reference: str, expected: Expected) -> bool:
    """Tell whether *reply* gives the answer *reference*; not if it gives none that can be found.

    *expected* is what the question asks for: its options are those of ``exact_letter``.

    Raises:
        ValueError: *reference* is no answer of the kind that *mode* compares.
    """
    if not reference.strip():
        raise ValueError("The reference is empty.")
    return _RULES[mode](ends(reply.text), reference.strip(), expected)


def _same_letter(text: str, reference: str, expected: Expected) -> bool:
    asked = (
        expected if expected.options else replace(expected, options=dict.fromkeys("ABCDEFGHIJ", ""))
    )
    right = letter(reference, asked)
    if right is None:
        raise ValueError(f"The reference {reference!r} is none of the options.")
    return letter(text, asked) == right


def _same_number(text: str, reference: str, expected: Expected) -> bool:
    return _near(text, reference, expected, _EXACT)


def _about_the_number(text: str, reference: str, expected: Expected) -> bool:
    return _near(text, reference, expected, _RELAXED)


def _near(text: str, reference: str, expected: Expected, tolerance: Fraction) -> bool:
    """Compare numbers, *tolerance* being a share of the right one, but of 1 if that is less.

    A reference that is more than a number, such as a formula, is compared as words.
    """
    right = _value(reference)
    if right is None:
        return _same_words(text, reference, expected)
    given = _value_of(number(text))
    if given is None or (right[1] and given[1] and right[1] != given[1]):
        return False
    return abs(right[0] - given[0]) <= tolerance * max(abs(right[0]), Fraction(1))


def _same_verdict(text: str, reference: str, expected: Expected) -> bool:
    del expected
    right = yes_no(reference)
    if right is None:
        raise ValueError(f"The reference {reference!r} is neither yes nor no.")
    return yes_no(text) == right


def _same_words(text: str, reference: str, expected: Expected) -> bool:
    """Compare words: the whole of what is stated, or words at the end of the text."""
    del expected
    wanted = plain(_statement(reference)) or reference
    said = (plain(_statement(text)), plain(text), text.strip())
    return any(_ends_with(each, wanted) for each in said)


def _ends_with(text: str, wanted: str) -> bool:
    """Tell whether *wanted* is all of *text*, or whole words of its end."""
    end = text[-_TAIL:] if len(text) <= _TAIL else text[-_TAIL:].partition(" ")[2]
    whole = rf"(?<!{_LETTER}){re.escape(wanted)}(?!{_LETTER})"
    return text == wanted or bool(re.search(whole, end))


def _statement(text: str) -> str:
    return boxed(text) or marked(text) or text


def _value(reference: str) -> tuple[Fraction, str] | None:
    """Return the number that *reference* is, with its unit; None if it is anything more."""
    said = _statement(reference)
    alone = len(quantities(said)) == 1 and not _FORMULA.search(said)
    return _value_of(number(said)) if alone else None


def _value_of(key: str | None) -> tuple[Fraction, str] | None:
    if key is None:
        return None
    value, _, unit = key.partition("|")
    return Fraction(value), unit


_LETTER: Final = r"[^\W\u3040-\u30ff\u3400-\u9fff]"  # of a script that parts its words
_FORMULA = re.compile(r"\\(?!(?:[dt]?frac|text|mathrm|mbox)\b)[A-Za-z]|\^|\d[nxyz]\b")
_RULES: Final[Mapping[MatchMode, Callable[[str, str, Expected], bool]]] = {
    "exact_letter": _same_letter,
    "numeric": _same_number,
    "yes_no": _same_verdict,
    "relaxed": _about_the_number,
    "exact_match": _same_words,
}
