"""Events of an answer as JSON, and back: what a settled step is answered with again."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any, Final

import orjson

from pricing.usage import Usage
from techniques.core import events as kinds
from techniques.core.citation import Citation
from techniques.core.events import Choice, Event, Finished, Relayed, TextDelta, Traced
from techniques.core.request import Opaque

_KINDS: Final[Mapping[str, Any]] = {
    kind.__name__: kind
    for kind in (
        kinds.Started,
        kinds.TextDelta,
        kinds.ThinkingDelta,
        kinds.Signed,
        kinds.Redacted,
        kinds.RefusalDelta,
        kinds.Cited,
        kinds.ToolCallStarted,
        kinds.ToolCallDelta,
        kinds.BlockAdded,
        kinds.UsageReported,
        kinds.Note,
        kinds.Warned,
        kinds.Finished,
    )
}
_FIELDS: Final = {name: [one.name for one in fields(kind)] for name, kind in _KINDS.items()}
_UNKEPT: Final = (Traced, kinds.Provisional)


def packed(events: Iterable[Event]) -> str:
    """Return *events* as JSON; pieces of one text that follow each other become one."""
    return orjson.dumps([_written(event) for event in _joined(events)], default=_plain).decode()


def unpacked(text: str) -> list[Event]:
    """Return the events that ``packed`` wrote."""
    return [_read(item) for item in orjson.loads(text)]


def _joined(events: Iterable[Event]) -> Iterator[Event]:
    texts: list[str] = []
    for event in events:
        if isinstance(event, TextDelta) and event.logprobs is None:
            texts.append(event.text)
            continue
        if texts:
            yield TextDelta("".join(texts))
            texts = []
        if not isinstance(event, _UNKEPT):
            yield event
    if texts:
        yield TextDelta("".join(texts))


def _written(event: Event) -> list[Any]:
    match event:
        case Relayed():
            return ["Relayed", _bytes(event.raw), event.characters]
        case Choice():
            return ["Choice", event.index, _written(event.event)]
        case Finished(raw=raw):
            return ["Finished", event.reason, event.stop_sequence, _bytes(raw), event.details]
        case _:
            name = type(event).__name__
            return [name, *(getattr(event, field) for field in _FIELDS[name])]


def _read(item: list[Any]) -> Event:  # noqa: PLR0911 - one for each form
    name, *values = item
    match name:
        case "Relayed":
            return Relayed(_unbytes(values[0]), values[1])
        case "Choice":
            return Choice(values[0], _read(values[1]))
        case "Finished":
            return Finished(values[0], values[1], _unbytes(values[2]), *values[3:])
        case "UsageReported":
            return kinds.UsageReported(Usage(**values[0]), *values[1:])
        case "BlockAdded":
            return kinds.BlockAdded(Opaque(**values[0]))
        case "Cited":
            return kinds.Cited(_citation(values[0]))
        case _:
            event: Event = _KINDS[name](*values)
            return event


def _citation(kept: dict[str, Any]) -> Citation:
    own = kept["own"]
    return Citation(**{**kept, "own": None if own is None else Opaque(**own)})


def _bytes(raw: bytes) -> str | list[str]:
    """Return *raw* as text; what is none, in a list, in base64."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return [base64.b64encode(raw).decode()]


def _unbytes(kept: str | list[str]) -> bytes:
    return kept.encode() if isinstance(kept, str) else base64.b64decode(kept[0])


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value).__name__)
