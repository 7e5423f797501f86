"""Finds arithmetic in a question, in signs or in words, and evaluates it exactly."""

from __future__ import annotations

import re
from fractions import Fraction

# fmt: off
_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
# fmt: on
_WORDS = {word: i for i, word in enumerate(_UNITS)} | {
    word: 10 * (i + 2) for i, word in enumerate(_TENS)
}
_NUMBER_WORD = "|".join(sorted(_WORDS, key=len, reverse=True))
_SPELLED = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENS)})[- ](?P<ones>{'|'.join(_UNITS[1:10])})"
    rf"|(?P<one>{_NUMBER_WORD}))"
    r"(?P<hundred> hundred)?\b"
)
_NUM = r"(?<![\d.])\d{1,15}(?:\.\d{1,9})?(?!\d)"
_SIGNS = (
    (re.compile(r"(?<=\d),(?=\d{3}\b)"), ""),
    (re.compile(r"[\u00d7\u00b7\u2219]|(?<=\d)\s*x\s*(?=\d)"), "*"),
    (re.compile("\u00f7"), "/"),
    (re.compile("[\u2212\u2013]"), "-"),
    (re.compile(r"\*\*"), "^"),
    (re.compile(r"\bplus\b|\badded to\b"), "+"),
    (re.compile(r"\bminus\b|\bless\b"), "-"),
    (re.compile(r"\b(?:times|multiplied by)\b"), "*"),
    (re.compile(r"\bdivided by\b"), "/"),
    (re.compile(r"\bto the power of\b"), "^"),
    (re.compile(rf"({_NUM})\s+squared\b"), r"\1^2"),
    (re.compile(rf"({_NUM})\s+cubed\b"), r"\1^3"),
    (re.compile(rf"({_NUM})\s*(?:%|percent)\s*of\s*({_NUM})"), r"(\1/100*\2)"),
    (re.compile(rf"\bsum of ({_NUM}) and ({_NUM})"), r"(\1+\2)"),
    (re.compile(rf"\bproduct of ({_NUM}) and ({_NUM})"), r"(\1*\2)"),
    (re.compile(rf"\bdifference between ({_NUM}) and ({_NUM})"), r"(\1-\2)"),
    (re.compile(rf"\bhalf of ({_NUM})"), r"(\1/2)"),
    (re.compile(rf"\b(?:double|twice) ({_NUM})"), r"(2*\1)"),
)
_RUN = re.compile(r"(?<![(\s-])[(\s-]*\d[\d\s.+*/^()-]*")
_TOKEN = re.compile(rf"\s*({_NUM}|[-+*/^()])")
_TIGHT = re.compile(r"\d+(?:[-/]\d+)+")
_PREFIX = re.compile(r"(?:what is|what's|whats|calculate|compute|evaluate|solve)\s+")
_LARGEST = 10**60
_MOST = 200  # tokens; longer is no question of arithmetic


def digits(text: str) -> str:
    """Return *text* in lower case with number words below 1000 written in digits."""
    return _SPELLED.sub(_spelled, text.lower())


def find(text: str) -> tuple[str, Fraction] | None:
    """Return the longest calculation in *text* and its value, None if there is none."""
    plain = digits(text)
    for pattern, sign in _SIGNS:
        plain = pattern.sub(sign, plain)
    alone = _PREFIX.sub("", plain).strip(" \n?.=:")
    best: tuple[str, Fraction] | None = None
    for match in _RUN.finditer(plain):
        run = _trim(match[0])
        if _TIGHT.fullmatch(run) and run != alone:
            continue  # a date, a phone number, a fraction in passing
        value = evaluate(run)
        if value is not None and (best is None or len(run) > len(best[0])):
            best = (run, value)
    return best


def evaluate(text: str) -> Fraction | None:
    """Return the value of the calculation *text*, None if it is none with at least one sign."""
    tokens = _TOKEN.findall(text)
    if len("".join(tokens)) != len(re.sub(r"\s", "", text)) or not 3 <= len(tokens) <= _MOST:
        return None
    if not any(token in "+-*/^" for token in tokens[1:]):
        return None
    try:
        value = _Reading(tokens).whole()
    except (_Unreadable, ZeroDivisionError):
        return None
    return value if abs(value.numerator) < _LARGEST and value.denominator < _LARGEST else None


def _spelled(match: re.Match[str]) -> str:
    value = _WORDS[match["tens"]] + _WORDS[match["ones"]] if match["tens"] else _WORDS[match["one"]]
    return str(value * 100 if match["hundred"] else value)


def _trim(run: str) -> str:
    run = run.strip().rstrip("+*/^-(. ")
    while run.count(")") > run.count("(") and run.endswith(")"):
        run = run[:-1].rstrip()
    while run.count("(") > run.count(")") and run.startswith("("):
        run = run[1:].lstrip()
    return run


class _Unreadable(Exception):
    """The tokens are no calculation."""


class _Reading:
    """Recursive descent over the tokens of one calculation; the usual precedence of signs."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def whole(self) -> Fraction:
        value = self._sum()
        if self._at != len(self._tokens):
            raise _Unreadable
        return value

    def _take(self, signs: str) -> str:
        if self._at < len(self._tokens) and self._tokens[self._at] in signs:
            self._at += 1
            return self._tokens[self._at - 1]
        return ""

    def _sum(self) -> Fraction:
        value = self._product()
        while sign := self._take("+-"):
            value = value + self._product() if sign == "+" else value - self._product()
        return value

    def _product(self) -> Fraction:
        value = self._power()
        while sign := self._take("*/"):
            value = value * self._power() if sign == "*" else value / self._power()
        return value

    def _power(self) -> Fraction:
        if self._take("-"):
            return -self._power()
        value = self._atom()
        if not self._take("^"):
            return value
        exponent = self._power()
        if exponent.denominator != 1 or abs(exponent) > 20 or abs(value) > 10**6:
            raise _Unreadable
        return Fraction(value ** int(exponent))

    def _atom(self) -> Fraction:
        if self._take("("):
            value = self._sum()
            if not self._take(")"):
                raise _Unreadable
            return value
        if self._at == len(self._tokens) or not self._tokens[self._at][0].isdigit():
            raise _Unreadable
        self._at += 1
        return Fraction(self._tokens[self._at - 1])
