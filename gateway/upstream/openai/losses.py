"""What of a request cannot be said to a provider."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.upstream.shared import is_sources
from techniques.core.errors import RequestRejected
from techniques.core.events import Warned
from techniques.core.free_form import is_free_form
from techniques.core.json import Json, JsonObject
from techniques.core.tool_search import is_search


class Losses:
    """Collects what is left out of one request; *strict* makes each of them an error.

    *native* tells that the request was written in the provider's own dialect. Of another one,
    *takes* are the fields that mean the same here.
    """

    def __init__(
        self, *, strict: bool, native: bool = True, takes: frozenset[str] = frozenset()
    ) -> None:
        self._strict = strict
        self.native = native
        self.takes = takes
        self._warnings: list[Warned] = []

    @property
    def warnings(self) -> tuple[Warned, ...]:
        """What was left out, each once."""
        return tuple(self._warnings)

    def drop(self, code: str, detail: str) -> None:
        """Note that *detail* is left out.

        Raises:
            RequestRejected: The request is strict.
        """
        if self._strict:
            raise RequestRejected(
                f"The model's provider cannot be told of {detail!r}, and the request is strict.",
                code=code,
                param=detail,
            )
        warning = Warned(code, detail)
        if warning not in self._warnings:
            self._warnings.append(warning)

    def keep(self, extra: Mapping[str, Json]) -> JsonObject:
        """Return the fields of *extra* that can be written: all, or those that mean the same."""
        if self.native:
            return dict(extra)
        if is_free_form(extra):
            self.drop("custom_tool_as_function", "tools")
            return {}
        if is_search(extra):
            self.drop("tool_search_as_function", "tools")
            return {}
        for name, value in extra.items():
            if name not in self.takes and not is_sources(name, value):
                self.drop("field_dropped", name)
        return {name: extra[name] for name in extra if name in self.takes}


def refuse(what: str, param: str) -> RequestRejected:
    """Return the error of a feature, named *what*, that the target does not have."""
    return RequestRejected(
        f"The model does not take {what}.", code="unsupported_feature", param=param
    )


def refuse_tool(kind: str) -> RequestRejected:
    """Return the error of a tool of that *kind*, which only another provider has."""
    message = f"The model does not take tools of this kind ({kind})."
    return RequestRejected(message, code="unsupported_tool", param="tools")
