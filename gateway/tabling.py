"""Plain tables of keys, budgets and prices, for a terminal."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final

from techniques.core.json import Json, JsonObject

_MOST: Final = 30


def table(columns: Sequence[str], rows: Sequence[JsonObject], numbers: Collection[str] = ()) -> str:
    """Return *rows* as lines under a head, one a row; what is not said is a dash.

    Columns that are called *numbers* stand to the right.
    """
    cells = [list(columns), *([_cell(row.get(name)) for name in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    placed = [str.rjust if name in numbers else str.ljust for name in columns]
    return "\n".join(
        "  ".join(
            put(cell, width) for put, cell, width in zip(placed, line, widths, strict=True)
        ).rstrip()
        for line in cells
    )


def key_table(rows: Sequence[JsonObject], now: datetime) -> str:
    """Return keys as a table as they stand *now*; those that are revoked or go say so."""
    columns = ("name", "prefix", "source", "team", "models", "rpm", "tpm", "concurrency", "state")
    return table(columns, [{**row, "state": _state(row, now)} for row in rows])


def budget_table(rows: Sequence[JsonObject]) -> str:
    """Return budgets as a table."""
    columns = ("key", "team", "usd", "period", "tz", "spent_usd", "left_usd", "end", "source")
    return table(columns, rows)


def price_table(rows: Sequence[JsonObject]) -> str:
    """Return what models cost as a table, of many models the first ones."""
    shown = table(("model", "provider", "input", "output", "source", "row"), rows[:_MOST])
    more = f"\nand {len(rows) - _MOST} more" if len(rows) > _MOST else ""
    return f"dollars per million tokens:\n{shown}{more}"


def _state(row: JsonObject, now: datetime) -> str:
    if row["revoked_at"]:
        return "revoked"
    if row["expires"] is None:
        return "active"
    at = datetime.fromisoformat(row["expires"])
    return "expired" if at <= now else f"until {at:%Y-%m-%d %H:%M}"


def _cell(value: Json) -> str:
    match value:
        case None:
            return "-"
        case list():
            return ",".join(map(str, value)) or "(none)"
        case _:  # what a client wrote must not speak to the terminal
            return "".join(c if c.isprintable() else "?" for c in str(value))
