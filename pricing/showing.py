"""What is known of prices, as rows for programs and as tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final, TypeAlias

from pricing.cost import dollars
from pricing.price import RATES, Price
from pricing.table import Table

Shown: TypeAlias = dict[str, Any]
_HEAD: Final = ("row", "source", "mode", "over", "from")


def price_rows(price: Price) -> list[Shown]:
    """Return all that *price* may be, a row each: its modes, tiers and what it becomes.

    Rates are texts, in dollars per million tokens; of ``per_request`` and ``image``, in dollars.
    """
    return list(_rows(price, "standard", None))


def _rows(price: Price, mode: str, since: float | None) -> Iterator[Shown]:
    begins = None if since is None else datetime.fromtimestamp(since, UTC).date().isoformat()
    for over, part in ((None, price), *price.tiers):
        rates = {name: _rate(part, name) for name in RATES}
        yield {
            "row": part.name,
            "source": price.source,
            "mode": mode,
            "over": over,
            "from": begins,
            **rates,
            "caveats": list(part.caveats),
        }
    for name, part in price.modes:
        yield from _rows(part, name, since)
    if price.then is not None:
        yield from _rows(price.then, mode, price.until)


def _rate(price: Price, name: str) -> str | None:
    rate: int | None = getattr(price, name)
    if name in ("per_request", "image"):
        return dollars(rate) if rate else None
    return None if rate is None else dollars(rate * 1_000_000)


def price_table(rows: Sequence[Shown]) -> str:
    """Return *rows* as lines under a head; a rate that none of them has is left out."""
    names = [name for name in RATES if any(row[name] is not None for row in rows)]
    some = [name for name in ("over", "from") if any(row[name] is not None for row in rows)]
    columns = [name for name in _HEAD if name in some or name not in ("over", "from")]
    table = lines([*columns, *names], rows)
    caveats = sorted({caveat for row in rows for caveat in row["caveats"]})
    return "\n".join([table, *(f"caveat: {caveat}" for caveat in caveats)])


def lines(columns: Sequence[str], rows: Sequence[Shown]) -> str:
    """Return *rows* as lines under a head; numbers stand to the right, what is not said is a dash.

    A row that lacks a column does not say it.
    """
    cells = [[*columns], *([_cell(row.get(name)) for name in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numeric = [all(_is_number(row.get(name)) for row in rows) for name in columns]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in cells
    )


def _cell(value: object) -> str:
    return "-" if value is None else str(value)


def _is_number(value: object) -> bool:
    return value is None or isinstance(value, int) or Decimal.is_finite(_decimal(value))


def _decimal(value: object) -> Decimal:
    text = str(value)
    return Decimal(text) if text.replace(".", "", 1).isdecimal() else Decimal("nan")


def status_of(table: Table, today: date) -> Shown:
    """Return what *table* has, and how old it is."""
    as_of = table.origin.as_of
    return {
        "table": table.origin.name,
        "as_of": as_of.isoformat() if as_of else None,
        "age_days": (today - as_of).days if as_of else None,
        "rows": len(table.rows),
        "models": len({(row.provider, row.model) for row in table.rows}),
        "providers": len({row.provider for row in table.rows}),
    }
