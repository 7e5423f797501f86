"""Reads a list of objects with ``model``, ``provider`` and rates named ``…_per_mtok``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pricing.price import RATES
from pricing.table import RowRecord

_SUFFIX: Final = "_per_mtok"
_ALSO: Final = {"cached_input": "cache_read", "cache_write_5m": "cache_write"}


def fits(value: Any) -> bool:
    """Return whether *value* looks like such a list."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, dict) and f"input{_SUFFIX}" in item for item in value)
    )


def rows(value: Any) -> Iterator[RowRecord]:
    """Yield the rows of *value*; rates are dollars per million tokens.

    Raises:
        ValueError: An object is no row.
    """
    for item in value:
        rates = {
            _ALSO.get(name, name): rate
            for label, rate in item.items()
            if (name := label.removesuffix(_SUFFIX)) != label
        }
        known = {name: rate for name, rate in rates.items() if name in RATES}
        yield RowRecord.model_validate(
            {"provider": item.get("provider"), "model": item.get("model"), **known}
        )
