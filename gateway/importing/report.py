"""What is taken of a foreign configuration, and a list of all that is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from techniques.core.json import Json, JsonObject

NOTHING_LIKE_IT: Final = "there is nothing like it here"


@dataclass(slots=True)
class Report:
    """Settings that could not be carried over, and notes: each a path and a reason.

    No value of a setting is ever in it, for it may be a secret.
    """

    lost: list[tuple[str, str]] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)

    def lose(self, path: str, why: str) -> None:
        """Say that the setting at *path* is not carried over."""
        self.lost.append((path, why))

    def note(self, path: str, what: str) -> None:
        """Say what else is to be known of the setting at *path*."""
        if (path, what) not in self.notes:
            self.notes.append((path, what))

    def lines(self) -> Iterator[str]:
        """Yield the report, a line each."""
        yield from (f"not carried over: {_plain(path)}: {why}" for path, why in self.lost)
        yield from (f"note: {_plain(path)}: {what}" for path, what in self.notes)


def _plain(path: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in path)


class Settings:
    """An object of a foreign configuration: what is not taken of it is reported in the end."""

    def __init__(self, value: Json, path: str, report: Report) -> None:
        self.path = path
        self.report = report
        self._left: JsonObject = {}
        if isinstance(value, dict):
            self._left = {str(name): one for name, one in value.items()}
        elif value is not None:
            report.lose(path, "it is no mapping")

    def at(self, name: str) -> str:
        """Return the path of the setting *name*."""
        return f"{self.path}.{name}" if self.path else name

    def fill(self, more: JsonObject) -> None:
        """Add settings that are stated elsewhere, where they are not stated here."""
        self._left = {**more, **self._left}

    def take(self, name: str) -> Json:
        """Return the setting *name* and take it out, None if it is not there."""
        return self._left.pop(name, None)

    def inner(self, name: str) -> Settings:
        """Take out the object *name*."""
        return Settings(self.take(name), self.at(name), self.report)

    def pairs(self, name: str) -> JsonObject:
        """Take out an object as it is; anything else is reported, and {}."""
        value = self.take(name)
        if value is not None and not isinstance(value, dict):
            self.report.lose(self.at(name), "it is no mapping")
        return {str(key): one for key, one in value.items()} if isinstance(value, dict) else {}

    def rows(self, name: str) -> list[Json]:
        """Take out a list; anything else is reported, and []."""
        value = self.take(name)
        if value is not None and not isinstance(value, list):
            self.report.lose(self.at(name), "it is no list")
        return value if isinstance(value, list) else []

    def text(self, name: str) -> str | None:
        """Take out a text."""
        value = self.take(name)
        if value is None or isinstance(value, str):
            return value or None
        self.report.lose(self.at(name), "it is no text")
        return None

    def number(self, name: str, least: float = 1, most: float = 10**12) -> float | None:
        """Take out a number from *least* to *most*; another is reported."""
        value = self.take(name)
        if value is None:
            return None
        try:
            number = float("nan") if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if not least <= number <= most:
            self.report.lose(self.at(name), f"it is no number from {least:g} to {most:g}")
            return None
        return number

    def whole(self, name: str, least: int = 1, most: int = 10**12) -> int | None:
        """Take out a whole number from *least* to *most*; another is reported."""
        number = self.number(name, least, most)
        return None if number is None else int(number)

    def close(self, reasons: Mapping[str, str], usual: str = NOTHING_LIKE_IT) -> None:
        """Report all that was not taken; a reason "" stands for what needs no word."""
        for name, value in self._left.items():
            why = reasons.get(name, usual)
            if why and value not in (None, [], {}, ""):
                self.report.lose(self.at(name), why)
        self._left = {}
