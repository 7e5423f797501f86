"""Makes the shipped table anew, from the data of the package ``genai-prices``.

That package is asked here and nowhere else: a gateway reads the table.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from importlib import import_module
from typing import Any

from pricing.files import FileRecord
from pricing.formats import genai
from pricing.table import RowRecord


class NoData(Exception):
    """The package is not installed; the message says what to do."""


def providers() -> Iterable[Any]:
    """Return the providers that the installed package knows, with their models.

    Raises:
        NoData: There is none.
    """
    try:
        return list(import_module("genai_prices.data").providers)
    except ImportError as error:
        raise NoData("genai-prices is not installed here: pip install genai-prices") from error


def refreshed(known: Iterable[Any], day: date) -> FileRecord:
    """Return the table of all that *known* providers ask for, as it is on *day*."""
    known = list(known)
    return FileRecord(
        origin="genai-prices",
        as_of=day,
        licence="MIT, https://github.com/pydantic/genai-prices",
        addresses=genai.addresses(known),
        rows=tuple(genai.rows(known)),
    )


def changes(before: Iterable[RowRecord], after: Iterable[RowRecord]) -> dict[str, int]:
    """Return how many rows are new, gone, and other than they were."""
    old, new = ({_key(row): row for row in rows} for rows in (before, after))
    return {
        "new": len(new.keys() - old.keys()),
        "gone": len(old.keys() - new.keys()),
        "changed": sum(old[key] != new[key] for key in old.keys() & new.keys()),
    }


def _key(row: RowRecord) -> tuple[str, str, str, date | None]:
    return row.provider, row.model, row.mode, row.since
