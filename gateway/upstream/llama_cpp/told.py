"""What llama.cpp's server tells of itself and of its slots, read strictly: nothing is guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from techniques.core.json import Json, JsonObject

Trouble: TypeAlias = Literal["unreachable", "refused", "unreadable", "slot_missing"]


class ServerFailed(Exception):
    """The server did not do what was asked; ``reason`` says in one word why."""

    def __init__(self, reason: Trouble, message: str) -> None:
        super().__init__(message)
        self.reason: Trouble = reason


@dataclass(frozen=True, slots=True)
class Props:
    """A server: how many slots, tokens of context in each, the path of its model, its build."""

    slots: int
    context: int
    model: str
    build: str


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot now. ``cached`` are the tokens in it, which stay when its call has ended."""

    id: int
    processing: bool
    cached: int

    @property
    def used(self) -> int:
        """The tokens of context that are taken: an idle slot gives way to any other call."""
        return self.cached if self.processing else 0


class Moved(NamedTuple):
    """A slot was saved or restored: so many tokens, bytes and seconds."""

    tokens: int
    size: int
    seconds: float


def props_of(body: Json) -> Props:
    """Read the answer of ``/props``.

    Raises:
        ServerFailed: It lacks the number of slots or the size of their context.
    """
    told = body if isinstance(body, dict) else {}
    defaults = told.get("default_generation_settings")
    context = _count(defaults.get("n_ctx")) if isinstance(defaults, dict) else None
    context = context or _count(told.get("n_ctx"))
    slots = _count(told.get("total_slots"))
    if not context or not slots:
        raise ServerFailed("unreadable", "/props tells no total_slots, or no n_ctx.")
    return Props(slots, context, _word(told.get("model_path")), _word(told.get("build_info")))


def slots_of(body: Json) -> tuple[Slot, ...]:
    """Read the answer of ``/slots``: a list, or an object around it.

    Raises:
        ServerFailed: It is neither, or a slot that computes does not tell what it holds.
    """
    if isinstance(body, dict):
        body = next((body[name] for name in ("slots", "data") if name in body), None)
    if not isinstance(body, list) or not all(isinstance(row, dict) for row in body):
        raise ServerFailed("unreadable", "/slots is no list of slots.")
    return tuple(_slot(row, place) for place, row in enumerate(body) if isinstance(row, dict))


def moved_of(body: Json, *, saved: bool) -> Moved:
    """Read what the server says of a slot that it *saved*, or else restored.

    Raises:
        ServerFailed: It does not say how many tokens.
    """
    told = body if isinstance(body, dict) else {}
    names = ("n_saved", "n_written", "save_ms") if saved else ("n_restored", "n_read", "restore_ms")
    tokens, size = _count(told.get(names[0])), _count(told.get(names[1]))
    if tokens is None:
        raise ServerFailed("unreadable", f"The server does not say {names[0]}.")
    timings = told.get("timings")
    took = timings.get(names[2]) if isinstance(timings, dict) else None
    seconds = took / 1000 if isinstance(took, int | float) else 0.0
    return Moved(tokens, size or 0, seconds)


def _slot(row: JsonObject, place: int) -> Slot:
    number = _count(row.get("id"))
    processing = row.get("is_processing")
    if not isinstance(processing, bool):
        processing = row.get("state") != 0  # as older servers say it
    cached = next(_cached(row), None)
    if cached is None and processing:
        raise ServerFailed("unreadable", "A slot computes and does not tell what it holds.")
    return Slot(place if number is None else number, processing, cached or 0)


def _cached(row: JsonObject) -> Iterator[int]:
    """Yield what each field that servers of some age have tells, the most exact one first."""
    for name, read in _FIELDS:
        if (told := read(row.get(name))) is not None:
            yield told


def _count(value: Json) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _size(value: Json) -> int | None:
    return len(value) if isinstance(value, list) else _count(value)


def _listed(value: Json) -> int | None:
    return len(value) if isinstance(value, list) else None


def _decoded(value: Json) -> int | None:
    rows = value if isinstance(value, list) else [value]
    counts = [_count(row.get("n_decoded")) for row in rows if isinstance(row, dict)]
    return max((count for count in counts if count is not None), default=None)


_FIELDS: Final[tuple[tuple[str, Callable[[Json], int | None]], ...]] = (
    ("n_prompt_tokens", _count),
    ("cache_tokens", _size),
    ("n_past", _count),
    ("prompt", _listed),
    ("tokens", _listed),
    ("next_token", _decoded),
)


def _word(value: Json) -> str:
    return value if isinstance(value, str) else ""
