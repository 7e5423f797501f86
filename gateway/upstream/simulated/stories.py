"""Small word problems: change, equal groups, sharing, distance and price."""

from __future__ import annotations

import re
from fractions import Fraction

from gateway.upstream.simulated.arithmetic import digits

_LONGEST = 1500  # letters; of a longer text only the end is looked at
_N = r"\$?(\d+(?:\.\d+)?)"
_ASKS = re.compile(
    r"\bhow (?:many|much|far|long)\b|\bwhat (?:is|was) the (?:total|distance|cost|price)\b"
)
_SPEED = re.compile(
    rf"{_N} (?:km/h|kph|mph|(?:km|kilomet\w+|miles) (?:per|an) hour)\D*?{_N} hours?"
)
_SHARED = re.compile(
    rf"{_N} [^.?\d]*?(?:shared?|divided?|split|distributed?|packed)[^.?\d]*?"
    rf"(?:among|between|into|of|over) {_N}"
)
_GROUPS = re.compile(
    rf"{_N} [a-z ]*?(?:with|of|containing|contains?|holds?|holding|has|have|costs?|costing|at|for)"
    rf" {_N}(?: [a-z]+){{0,3}} (?:each|apiece)"
)
_EACH = re.compile(
    rf"each [a-z ]*?(?:has|holds?|contains?|costs?|weighs?|carries) {_N}[^?]*?{_N}\b"
)
_START = re.compile(
    rf"\b(?:has|had|have|there (?:are|were)|starts? with|holds?|contains?|bakes?|picks?) {_N}"
)
_GAIN = (
    r"gets?|got|buys?|bought|finds?|found|receives?|adds?|earns?|picks?|join|arrive|get on|"
    r"bakes?|wins?"
)
_LOSS = (
    r"gives?(?: away)?|gave(?: away)?|eats?|ate|loses?|lost|sells?|sold|uses?|spends?|leave|left|"
    r"breaks?|drops?|throws? away|get off|takes? away|lends?"
)
_CHANGE = re.compile(
    rf"\b(?:(?:{_GAIN})|(?P<loss>{_LOSS}))\b(?: [a-z]+){{0,2}}? \$?(?P<first>\d+(?:\.\d+)?)"
    r"|\b(?P<second>\d+(?:\.\d+)?)(?: [a-z]+){0,2} "
    r"(?:join|arrive|get on|more come|(?P<go>leave|get off|break))\b"
)


def find(text: str) -> Fraction | None:
    """Return the answer to the word problem *text*, None if it is none that is known."""
    plain = digits(text[-_LONGEST:]).replace(",", "")
    if not _ASKS.search(plain):
        return None
    if match := _SPEED.search(plain):
        return Fraction(match[1]) * Fraction(match[2])
    if (match := _SHARED.search(plain)) and Fraction(match[2]):
        return Fraction(match[1]) / Fraction(match[2])
    return _grouped_or_changed(plain)


def _grouped_or_changed(plain: str) -> Fraction | None:
    if match := _GROUPS.search(plain) or _EACH.search(plain):
        return _changed(Fraction(match[1]) * Fraction(match[2]), plain[match.end() :])
    if (match := _START.search(plain)) and _CHANGE.search(plain, match.end()):
        return _changed(Fraction(match[1]), plain[match.end() :])
    return None


def _changed(value: Fraction, rest: str) -> Fraction:
    for match in _CHANGE.finditer(rest):
        amount = Fraction(match["first"] or match["second"])
        value = value - amount if match["loss"] or match["go"] else value + amount
    return value
