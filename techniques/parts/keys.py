"""The answer key: two replies with one key gave the same answer; None gives no vote."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

from techniques.core.reply import Reply
from techniques.parts.answers import AnswerKind, Expected
from techniques.parts.decisions import actions, decision, read_json
from techniques.parts.markers import bolds, boxed, ends, last_paragraph, marked, sentences
from techniques.parts.numbers import Quantity, quantities, stated
from techniques.parts.refusals import abstains

TOOL: Final = "tool|"
TEXT: Final = "text|"
"""Begins the key of a text that is only alike to its own words; a voter may know better."""

_EXACT: Final = frozenset({"letter", "number", "yes_no"})
"""Kinds of which an answer without a key has no vote. One of a few words may say them at length."""
_KEYED: Final = _EXACT | {"short"}
_SHORT_WORDS: Final = 12
_WORDED: Final = 40_000  # characters; to read each word of a longer text takes too long
_LETTER_LENGTH: Final = 40  # characters; who gives only a letter needs no more


def key_of(reply: Reply, expected: Expected) -> str | None:
    """Return the key of what *reply* answers, ``<kind>|<canonical form>``."""
    if reply.tool_calls:
        return TOOL + actions(reply.tool_calls, expected.parameters)
    found = _reading(ends(reply.text), expected)
    if found is not None:
        return f"{'short' if expected.text == 'prose' else expected.text}|{found}"
    if expected.text in _EXACT or abstains(reply.text):
        return None
    if expected.text == "code":
        return f"code|{reply.text.strip()}"
    return TEXT + (plain(reply.text) if len(reply.text) <= _WORDED else _digest(reply.text))


def keyed(kind: AnswerKind) -> bool:
    """Tell whether a proper answer of *kind* is so short that it can be its own key."""
    return kind in _KEYED


def letter(text: str, expected: Expected) -> str | None:
    """Return the option that *text* chooses, as an upper-case letter."""
    options = expected.options
    whole = _WHOLE_LETTER.fullmatch(text) if len(text) < _LETTER_LENGTH else None
    if whole and whole[1].upper() in options:
        return whole[1].upper()
    for statement in (boxed(text), marked(text)):
        chosen = _stated_option(statement, expected) if statement else None
        if chosen:
            return chosen
    bold = [found for found in bolds(text) if found in options]
    if bold:
        return bold[-1]
    alone = [found for found in _LETTER.findall(text) if found in options]
    return alone[-1] if alone else _by_text(text, expected)


def number(text: str) -> str | None:
    """Return the number that *text* ends up with, as an exact fraction and its unit."""
    for statement in (boxed(text), marked(text)):
        read = quantities(statement) if statement else []
        if read:
            return _quantity(read[0] if "=" not in (statement or "") else read[-1])
    end = last_paragraph(text)
    bold = [quantity for found in bolds(end) if (quantity := stated(found))]
    last = bold[-1] if bold else stated(end)
    return _quantity(last) if last else None


def yes_no(text: str) -> str | None:
    """Return ``true`` or ``false`` as *text* affirms or denies, None if it does neither."""
    said = sentences(text)
    for statement in (boxed(text), marked(text), *said[:1], *said[-1:]):
        verdict = _verdict(statement) if statement else None
        if verdict is not None:
            return "true" if verdict else "false"
    return None


def short(text: str) -> str | None:
    """Return the few words that *text* is, or ends up with, in plain form."""
    if abstains(text):
        return None
    statement = boxed(text) or marked(text) or text
    if len(statement.split()) > _SHORT_WORDS or "\n" in statement.strip():
        return None
    return plain(statement) or None


def plain(text: str) -> str:
    """Return *text* without case, punctuation and articles, number words as digits.

    A text that is only an article, such as the answer ``A``, keeps it. A date in digits is the same
    with or without leading zeros.
    """
    bare = _PUNCTUATION.sub(" ", _DATE.sub(_padded, text.casefold()))
    words = [NUMBER_WORDS.get(word, word) for word in bare.split()]
    return " ".join([word for word in words if word not in _ARTICLES] or words)


def _digest(text: str) -> str:
    """Return what stands for a very long *text*: the same for the same words, white space aside."""
    words = " ".join(text.split())
    return f"sha256:{sha256(words.encode(errors='surrogatepass')).hexdigest()}"


def _padded(date: re.Match[str]) -> str:
    return re.sub(r"(?<!\d)\d(?!\d)", r"0\g<0>", date[0])


def _reading(text: str, expected: Expected) -> str | None:
    match expected.text:
        case "json":
            return _json_key(text, expected)
        case "letter":
            return letter(text, expected)
        case "number":
            return number(text)
        case "yes_no":
            return yes_no(text)
        case kind:
            return None if kind == "code" else short(text)


def _json_key(text: str, expected: Expected) -> str | None:
    try:
        return decision(read_json(text), expected.schema)
    except ValueError:
        return None


def _quantity(quantity: Quantity) -> str:
    return f"{quantity.value}|{quantity.unit}"


def _stated_option(statement: str, expected: Expected) -> str | None:
    first = _OPTION_FIRST.match(statement[:_LETTER_LENGTH])
    if first and first[1].upper() in expected.options:
        return first[1].upper()
    alone = [found for found in _LETTER.findall(statement) if found in expected.options]
    return alone[0] if alone else _by_text(statement, expected)


def _by_text(text: str, expected: Expected) -> str | None:
    wanted = plain(text)
    same = [option for option, words in expected.options.items() if plain(words) == wanted]
    return same[0] if len(same) == 1 else None


def _verdict(statement: str) -> bool | None:
    found = _VERDICT.match(statement) or _CLAIM.search(statement)
    if not found:
        return None
    affirms = found["word"].lower() in {"yes", "true", "correct"}
    denied = bool(_NEGATION.search(statement[: found.start("word")]))
    return affirms != denied


_LETTER = re.compile(r"(?<![\w'\u2019])(?:(?=[B-HJ])|(?=[AI](?!\s+[a-z])))([A-J])(?![\w'\u2019])")
_WHOLE_LETTER = re.compile(r"\W*(?:option|choice)?\W*([A-J])\W*", re.IGNORECASE)
_OPTION_FIRST = re.compile(
    r"^\W*(?:option|choice)?\s*\W*([A-J])\W*(?:$|[).:,;*]|\s[-\u2013\u2014])", re.IGNORECASE
)
_PUNCTUATION = re.compile(r"(?<!\d)[^\w\s%$€£+]|[^\w\s%$€£/:.,-](?=\d)|[^\w\s%$€£](?!\d)|_")
_DATE = re.compile(
    r"(?<![\d/.-])\d{1,2}([/.-])\d{1,2}\1\d{2,4}(?![\d/-])|(?<![\d/.-])\d{4}-\d{1,2}-\d{1,2}(?![\d/-])"
)
_ARTICLES: Final = frozenset({"a", "an", "the"})
_COUNTING: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen twenty"
)
NUMBER_WORDS: Final = {word: str(value) for value, word in enumerate(_COUNTING.split())}
_VERDICT = re.compile(
    r"^[\W_]*(?:(?:so|thus|hence|therefore)\W+)?(?:not\s+)?(?P<word>yes|no|true|false|correct|incorrect)\b",
    re.IGNORECASE,
)
_CLAIM = re.compile(
    r"\b(?:is|was|are|be|['\u2019]s)(?:n['\u2019]t)?\s+(?:[\w'\u2019]{1,40}\s+){0,3}?"
    r"(?P<word>true|false|correct|incorrect|yes\b(?=\W*$)|no\b(?=\W*$))\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"(?:\bnot|n['\u2019]t|\bnever|\bfar\s+from)(?:\s+\w+){0,2}\s*$", re.IGNORECASE
)
