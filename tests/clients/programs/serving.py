"""How a client program is asked: a line of JSON an operation, a line of JSON for what it saw."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Operation: TypeAlias = "Callable[[Place], Any]"
MARK = "\x1e"
IMAGE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where and what to ask.

    ``surface`` is the API: chat, messages, responses or ollama. ``root`` has no path.
    """

    root: str
    key: str
    model: str
    surface: str = "chat"
    ask: str = "Hello?"
    headers: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The base URL as clients of this surface want it."""
        return self.root if self.surface in {"messages", "ollama"} else f"{self.root}/v1"


def failure(error: BaseException) -> dict[str, Any]:
    """Return what a program can see of *error*, and of what caused it."""
    response = getattr(error, "response", None)
    headers = dict(getattr(response, "headers", None) or {})
    status = getattr(error, "status_code", None) or getattr(response, "status_code", None)
    cause = error.__cause__
    return {
        "kinds": [kind.__name__ for kind in type(error).__mro__],
        "status": status,
        "code": getattr(error, "code", None),
        "message": str(error)[:2000],
        "headers": {name.lower(): value for name, value in headers.items()},
        "cause": failure(cause) if cause is not None else None,
    }


def serve(operations: Mapping[str, Operation]) -> None:
    """Carry out what standard input asks for, until it ends."""
    for line in sys.stdin:
        asked = json.loads(line)
        operation = operations[asked.pop("do")]
        try:
            said = operation(Place(**asked))
        except Exception as error:  # noqa: BLE001  (whatever a client raises is what it saw)
            said = {"failed": failure(error)}
        sys.stdout.write(MARK + json.dumps(said, default=str) + "\n")
        sys.stdout.flush()
