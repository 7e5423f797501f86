"""What was found: a line for a person or an object for a program, never with a secret in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from textwrap import wrap
from typing import Final, Literal, TypeAlias

from techniques.core.json import JsonObject

Level: TypeAlias = Literal["ok", "note", "skipped", "warning", "error"]
_CODES: Final = {"warning": 1, "error": 2}
_WIDTH: Final = 100
_LEVEL: Final = 9
_MARGIN: Final = " " * (2 + _LEVEL)
_SHORTEST: Final = 4
"""A shorter secret would be taken out of the middle of words."""


@dataclass(frozen=True, slots=True)
class Finding:
    """*what* there is, *why* it matters, and the command or setting that mends it, *fix*.

    ``check`` is what was looked at.
    """

    check: str
    level: Level
    what: str
    why: str = ""
    fix: str = ""

    def told(self) -> JsonObject:
        """Return it as JSON."""
        return {
            "check": self.check,
            "level": self.level,
            "what": self.what,
            "why": self.why,
            "fix": self.fix,
        }


def code_of(findings: Iterable[Finding]) -> int:
    """Return the exit code: 0 fine, 1 warnings, 2 errors."""
    return max((_CODES.get(found.level, 0) for found in findings), default=0)


def without(secrets: Sequence[str], findings: Iterable[Finding]) -> list[Finding]:
    """Return *findings* with each of *secrets* taken out, wherever it stands."""
    known = sorted({text for text in secrets if len(text) >= _SHORTEST}, key=len, reverse=True)

    def masked(text: str) -> str:
        for secret in known:
            text = text.replace(secret, "[secret]")
        return text

    return [
        replace(found, what=masked(found.what), why=masked(found.why), fix=masked(found.fix))
        for found in findings
    ]


def as_json(findings: Sequence[Finding]) -> JsonObject:
    """Return all of *findings*, and how bad it is."""
    return {
        "code": code_of(findings),
        "errors": _count(findings, "error"),
        "warnings": _count(findings, "warning"),
        "findings": [found.told() for found in findings],
    }


def rendered(findings: Sequence[Finding]) -> str:
    """Return *findings* for a terminal, under a head for each check, and how many are bad."""
    lines: list[str] = []
    for check, found in groupby(findings, key=lambda found: found.check):
        lines.append(check)
        for one in found:
            lines += _lines(one)
    errors, warnings = _count(findings, "error"), _count(findings, "warning")
    told = f"{_counted(errors, 'error')}, {_counted(warnings, 'warning')}"
    return "\n".join([*lines, "", told if errors or warnings else "nothing is wrong"])


def _lines(found: Finding) -> Iterator[str]:
    yield from _wrapped(f"  {found.level:<{_LEVEL}}", found.what)
    if found.why:
        yield from _wrapped(f"{_MARGIN}why  ", found.why)
    if found.fix:
        yield f"{_MARGIN}fix  {found.fix}"  # in one piece, to be pasted


def _wrapped(head: str, text: str) -> list[str]:
    """Return *text* after *head*; addresses and paths in it stay in one piece."""
    return wrap(
        text or " ",
        _WIDTH,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _count(findings: Iterable[Finding], level: Level) -> int:
    return sum(found.level == level for found in findings)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
