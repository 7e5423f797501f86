"""Writes a text that a regular expression matches, for the plain ones that schemas use."""

from __future__ import annotations

import re
from typing import Final

import jsonschema_rs

_CLASSES: Final = {"d": "7", "w": "a", "s": " ", "D": "x", "W": "-", "S": "x"}
_LONGEST: Final = 2000
_REPEAT = re.compile(r"\{(\d+)(?:,\d*)?\}")
_CANDIDATES: Final = ("A", "a", "7", "-", "_", " ", ".", "x", "Z", "#")


def sample(pattern: str) -> str | None:
    """Return a text that *pattern* matches, None if none was found."""
    text = _Writer(pattern).whole()
    try:
        return text if jsonschema_rs.is_valid({"pattern": pattern}, text) else None
    except jsonschema_rs.ValidationError:  # it is no pattern
        return None


class _Writer:
    """Reads a pattern from left to right; of alternatives it takes the first."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def whole(self) -> str:
        text = self._branches()
        while self._at < len(self._pattern):
            self._at += 1  # an unbalanced bracket
            text += self._branches()
        return text

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _next(self) -> str:
        self._at += 1
        return self._pattern[self._at - 1 : self._at]

    def _branches(self) -> str:
        first = self._sequence()
        while self._peek() == "|":
            self._at += 1
            self._sequence()
        return first

    def _sequence(self) -> str:
        text = ""
        while (sign := self._peek()) and sign not in "|)":
            atom = self._atom()
            text += atom * min(self._times(), _LONGEST // max(len(atom), 1))
        return text

    def _atom(self) -> str:
        sign = self._next()
        if sign in "^$":
            return ""
        if sign == "(":
            return self._group()
        if sign == "[":
            return self._set()
        if sign == "\\":
            return self._escaped(self._next())
        return "x" if sign == "." else sign

    def _group(self) -> str:
        silent = False
        if self._peek() == "?":
            self._at += 1
            kind = self._next()
            silent = kind in "=!"
            if kind in "P<":
                silent = self._peek() in "=!"
                self._at = self._pattern.find(">", self._at) + 1 if not silent else self._at + 1
        text = self._branches()
        self._at += 1
        return "" if silent else text

    def _set(self) -> str:
        start = self._at - 1
        self._at += 1 if self._peek() == "^" else 0
        self._at += 1  # a bracket here is a member
        while (sign := self._next()) and sign != "]":
            self._at += 1 if sign == "\\" else 0
        source = self._pattern[start : self._at]
        try:
            members = re.compile(source)
        except re.error:
            return ""
        fitting = (
            sign for sign in (*_CANDIDATES, *map(chr, range(33, 127))) if members.match(sign)
        )
        return next(fitting, "")

    def _escaped(self, sign: str) -> str:
        return "" if sign in "bBAZz" else _CLASSES.get(sign, sign)

    def _times(self) -> int:
        sign = self._peek()
        times = 1
        if sign and sign in "?*+":
            self._at += 1
            times = 1 if sign == "+" else 0
        elif found := _REPEAT.match(self._pattern, self._at):
            self._at = found.end()
            times = int(found[1])
        else:
            return 1
        self._at += 1 if self._peek() == "?" else 0
        return times
