"""What a row says of one spelling of another gateway: where it stands, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from techniques.core.json import Json, JsonObject

Place: TypeAlias = Literal["header", "body", "model"]


def always(_: Json) -> bool:
    """Return whether there is something to say: there is."""
    return True


@dataclass(frozen=True, slots=True)
class Means:
    """It is our wish of that name, once ``read`` has translated its value.

    ``read`` raises ``RequestRejected`` for a value that means nothing; with ``lenient`` that is a
    warning, for what only groups or labels.
    """

    wish: str
    read: Callable[[str, Json], Json]
    lenient: bool = False


@dataclass(frozen=True, slots=True)
class Tags:
    """It is one or more of our ``tags``."""

    read: Callable[[str, Json], list[str]]


@dataclass(frozen=True, slots=True)
class Nothing:
    """It is taken away. ``told``, there is a warning if ``is_worth_it`` says so of the value."""

    told: bool
    is_worth_it: Callable[[Json], bool] = always


@dataclass(frozen=True, slots=True)
class Refused:
    """It is an error if ``is_asked`` says so of the value: ``why`` ends a sentence with its name.

    Otherwise it is taken away.
    """

    why: str
    is_asked: Callable[[Json], bool] = always


@dataclass(frozen=True, slots=True)
class ShowsUsage:
    """A stream is to tell its usage."""


Does: TypeAlias = Means | Tags | Nothing | Refused | ShowsUsage


@dataclass(frozen=True, slots=True)
class Row:
    """One spelling.

    ``name`` is that of a header in lower case, or the path of a field of the body, of one or two
    names; a ``*`` at its end stands for any rest. ``note`` says what the value becomes. With
    ``when``, the row holds only for bodies of which that is true; others lose the setting.
    """

    vendor: str
    place: Place
    name: str
    does: Does
    note: str = ""
    when: Callable[[JsonObject], bool] | None = None
