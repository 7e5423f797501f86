"""Reads the file of a configuration: its sections, with ``${NAME}`` and ``file:PATH`` filled in."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from router_service.groundwork.strict import read_yaml

PREFIX: Final = "LOCKGATE_"
"""How the names of all variables begin that set a field."""
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_WITH_PASSWORD: Final = re.compile(r"//[^/@]*:[^/@$]+@")


class Unreadable(Exception):
    """The file is not there, or is no mapping of sections. The message is one line."""


class Filling:
    """Fills in the texts of one file from *environment*.

    Paths are named from *folder*. What cannot be filled in stays as it is, and *problems* gets a
    line that begins with where it stands.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str], problems: list[str]) -> None:
        self._folder = folder
        self._environment = environment
        self._problems = problems

    def whole(self, value: Any, at: str, text: Callable[[Filling, str, str], str]) -> Any:
        """Return *value*, which stands at *at*, with each text as *text* (filling, it, at) says."""
        if isinstance(value, dict):
            return {name: self.whole(it, f"{at}.{name}", text) for name, it in value.items()}
        if isinstance(value, list):
            return [self.whole(it, f"{at}.{i}", text) for i, it in enumerate(value)]
        return text(self, value, at) if isinstance(value, str) else value

    def plain(self, value: str, at: str) -> str:
        """Return *value* with its variables."""

        def variable(match: re.Match[str]) -> str:
            found = self._environment.get(match[1])
            if found is None:
                self._problems.append(f"{at}: the environment variable {match[1]} is not set")
            return match[0] if found is None else found

        return _VARIABLE.sub(variable, value)

    def path(self, value: str, at: str) -> str:
        """Return the path that *value* names."""
        return str(self._folder / self.plain(value, at))

    def secret(self, value: str, at: str) -> str:
        """Return the secret that *value* names, by a variable or a file: it is not one itself."""
        if value.startswith("file:"):
            try:
                return (self._folder / value[5:]).read_text(encoding="utf-8").strip()
            except (OSError, ValueError) as error:  # it may be no text
                self._problems.append(f"{at}: {error}")
                return value
        if _VARIABLE.fullmatch(value):
            return self.plain(value, at)
        self._problems.append(
            f"{at}: write secrets as ${{NAME}} or file:PATH, never in the file itself"
        )
        return value

    def address(self, value: str, at: str) -> str:
        """Return the address that *value* is, or names: with a password in it, it is a secret."""
        hidden = value.startswith("file:") or _WITH_PASSWORD.search(value)
        return self.secret(value, at) if hidden else self.plain(value, at)


def sections(path: Path) -> dict[str, Any]:
    """Return the sections of the file at *path*, as they are written; an empty file has none.

    Raises:
        Unreadable: There is no such file, or it has something else.
    """
    try:
        read = read_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:  # its own words name the file a second time
        raise Unreadable(f"{path}: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        told = " ".join(str(error).split())  # one fault, one line
        raise Unreadable(f"{path}: {told}") from error
    if read is None:
        return {}
    if not isinstance(read, dict):
        raise Unreadable(f"{path}: the file must be a mapping of sections")
    return {str(name): value for name, value in read.items()}


def is_unread(text: str) -> bool:
    """Tell whether *text* names a secret that could not be read, and is none itself."""
    return text.startswith("file:") or _VARIABLE.fullmatch(text) is not None


def unknown_sections(environment: Mapping[str, str], known: Container[str]) -> Iterator[str]:
    """Say of each variable that would set a field of a section which is not *known*."""
    for name in environment:
        section, delimiter, _ = name.removeprefix(PREFIX).partition("__")
        if name.startswith(PREFIX) and delimiter and section.lower() not in known:
            yield f"{name}: there is no section {section.lower()!r}"
