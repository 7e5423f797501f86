"""What the documents show of other gateways' spellings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gateway.policy.familiar.row import Does, Means, Nothing, Refused, Row, ShowsUsage, Tags
from gateway.policy.familiar.rows import TABLE
from gateway.policy.familiar.values import APPROACHES

HEAD: Final = ("gateway", "where", "spelling", "what it is here", "value", "one that means nothing")
APPROACH_HEAD: Final = ("approach", "technique")
_ERROR: Final = "error 400"
_WARNING: Final = "warning"


def rows() -> Iterator[tuple[str, ...]]:
    """Yield a row for each spelling."""
    for row in TABLE:
        yield (row.vendor, row.place, f"`{_shown(row)}`", *_does(row.does, row.note))


def approaches() -> Iterator[tuple[str, str]]:
    """Yield each of OptiLLM's approaches that is a technique here."""
    for name, technique in APPROACHES.items():
        yield f"`{name}`", f"`{technique}`"


def _shown(row: Row) -> str:
    return f"MODEL{row.name[1:]}" if row.name.startswith("*") else row.name


def _does(does: Does, note: str) -> tuple[str, str, str]:
    match does:
        case Means(wish=wish):
            return f"`{wish}`", note or "the same", _WARNING if does.lenient else _ERROR
        case Tags():
            return "`tags`", note or "`NAME=value`", _WARNING
        case Nothing(told=told):
            return f"nothing{', with a warning' if told else ''}", note or "-", "-"
        case Refused():
            return _ERROR, note or "-", "-"
        case ShowsUsage():
            return "`stream_options.include_usage`", note, "nothing"
