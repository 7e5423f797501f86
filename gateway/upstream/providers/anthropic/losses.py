"""Keeps account of what of a request this provider cannot be told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn

from gateway.upstream.providers.anthropic.headers import DIALECT
from gateway.upstream.shared import is_sources
from techniques.core.carried import FIELDS
from techniques.core.errors import RequestRejected
from techniques.core.events import Warned
from techniques.core.free_form import is_free_form
from techniques.core.json import NOTHING, Json
from techniques.core.request import Request
from techniques.core.tool_search import is_search


class Losses:
    """What one request loses on its way; nothing, if it is ``strict``."""

    def __init__(self, request: Request) -> None:
        self._strict = request.strict
        self.own = request.dialect == DIALECT
        self._warnings: dict[Warned, None] = {}

    @property
    def warnings(self) -> tuple[Warned, ...]:
        """What was lost so far, each loss once."""
        return tuple(self._warnings)

    def note(self, code: str, detail: str) -> None:
        """Record that *detail* is lost.

        Raises:
            RequestRejected: The request allows no loss.
        """
        if self._strict:
            raise RequestRejected(
                f"{detail} would be lost on the way to this provider ({code}).", param=detail
            )
        self._warnings[Warned(code, detail)] = None

    def dropped(self, path: str) -> Callable[[str], None]:
        """Return what takes the names of fields below *path* that are lost."""
        return lambda name: self.note("field_dropped", f"{path}.{name}")

    def extra(self, fields: Mapping[str, Json], path: str) -> Mapping[str, Json]:
        """Return *fields* if they are of this dialect; else they are lost."""
        if self.own:
            lost = FIELDS.intersection(fields)
            for name in lost:
                self.note("field_dropped", f"{path}.{name}")
            return {name: fields[name] for name in fields if name not in lost} if lost else fields
        if is_free_form(fields):
            self.note("custom_tool_as_function", "tools")
            return NOTHING
        if is_search(fields):
            self.note("tool_search_as_function", "tools")
            return NOTHING
        for name in (name for name, value in fields.items() if not is_sources(name, value)):
            self.note("field_dropped", f"{path}.{name}")
        return NOTHING


def refuse(param: str, reason: str) -> NoReturn:
    """Raise that the feature *param* cannot be had here."""
    raise RequestRejected(f"{param}: {reason}.", param=param, code="unsupported_parameter")


def refuse_tool(kind: str) -> NoReturn:
    """Raise that tools of that *kind* are another provider's."""
    message = f"tools: this provider does not have tools of this kind ({kind})."
    raise RequestRejected(message, param="tools", code="unsupported_tool")
