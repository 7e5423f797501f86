"""Names what of an answer a client's API has no place for."""

from __future__ import annotations

from typing import Final

from techniques.core.citation import Citation
from techniques.core.events import (
    BlockAdded,
    Choice,
    Cited,
    Event,
    Finished,
    RefusalDelta,
    UsageReported,
    Warned,
)
from techniques.core.json import Json
from techniques.core.request import Opaque

_QUOTES: Final = "anthropic"
_CITES: Final = frozenset({_QUOTES, "openai_chat", "openai_responses"})
_SEARCHES: Final = frozenset({_QUOTES, "openai_responses"})
LOSING: Final = frozenset(
    {Warned, BlockAdded, Cited, RefusalDelta, UsageReported, Choice, Finished}
)
"""The events that tell of a loss, or of which something may be left out."""


def unsaid(event: Event, dialect: str) -> Warned | None:
    """Return the loss that *event* tells of, or is in part to a client of *dialect*; None: none."""
    lost = ""
    match event:
        case Warned():
            return event
        case Choice():
            return unsaid(event.event, dialect)
        case Cited():
            return _of_source(event.citation, dialect)
        case BlockAdded(Opaque(thinking=False) as block) if block.dialect != dialect:
            lost = _kind(block.value)
        case RefusalDelta() if event.logprobs is not None and dialect != "openai_chat":
            lost = "logprobs.refusal"
        case Finished(reason="pause") if dialect != _QUOTES:
            lost = "stop_reason.pause_turn"
        case UsageReported() if event.searches and dialect not in _SEARCHES:
            lost = "usage.web_search_requests"
        case _:
            pass
    return Warned("answer_part_dropped", lost) if lost else None


def _of_source(citation: Citation, dialect: str) -> Warned | None:
    own = citation.own
    if own is not None and own.dialect == dialect:
        return None
    if dialect not in _CITES or not citation.url:
        return Warned("citations_dropped", "" if own is None else _kind(own.value))
    quoted = bool(citation.quote) and dialect != _QUOTES
    return Warned("answer_part_dropped", "cited_text") if quoted else None


def _kind(value: Json) -> str:
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else "?"
