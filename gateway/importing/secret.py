"""Secrets of a foreign configuration: names of environment variables, and nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from gateway.importing.report import Report

_ENVIRONMENT: Final = "os.environ/"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(slots=True)
class Vault:
    """Gives a variable's name to each secret that stands in the file in clear.

    ``taken`` are the names that the file itself uses: they mean something else.
    """

    report: Report
    taken: set[str] = field(default_factory=set)
    _names: dict[str, str] = field(default_factory=dict)

    def secret(self, value: str, path: str, variable: str) -> str:
        """Return a secret as a variable: the one it names, or one called like *variable*."""
        if (named := _variable(value)) is not None:
            return named
        name = self._names.get(value)
        if name is None:
            name = self._names[value] = self._free(variable)
        self.report.note(path, f"it stands in the file in clear: put it into the variable {name}")
        return f"${{{name}}}"

    def address(self, value: str, path: str, variable: str) -> str:
        """Return an address; one with a credential in it is a secret as a whole."""
        if (named := _variable(value)) is not None:
            return named
        try:
            parts = urlsplit(value)
        except ValueError:
            return value
        if "@" in parts.netloc or parts.query:
            return self.secret(value, path, variable)
        return value

    def _free(self, variable: str) -> str:
        name, count = variable, 1
        while name in self.taken:
            count += 1
            name = f"{variable}_{count}"
        self.taken.add(name)
        return name


def _variable(value: str) -> str | None:
    name = value.removeprefix(_ENVIRONMENT)
    if name == value or not _NAME.fullmatch(name):
        return None
    return f"${{{name}}}"


def names_in(text: str) -> set[str]:
    """Return the environment variables that the file *text* names."""
    return set(re.findall(rf"{_ENVIRONMENT}([A-Za-z_][A-Za-z0-9_]*)", text))
