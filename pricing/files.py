"""Files of prices: what is in them, in whichever of the known formats."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Literal

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from pricing.formats import agent_compiler, litellm, openrouter
from pricing.table import Origin, RowRecord, Table

FORMAT: Final = "lockgate-prices/1"
_FIRST: Final = ("provider", "model", "names", "mode", "from", "to")
_UNREADABLE: Final = (
    ValueError,
    LookupError,
    AttributeError,
    TypeError,
    OverflowError,
    RecursionError,
)
SHIPPED: Final = Path(__file__).parent / "data" / "table.json"


class FileRecord(BaseModel):
    """A file of ours: its rows, where they were taken from and when.

    ``addresses`` are patterns by provider: whose address begins so sells at that provider's prices.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["lockgate-prices/1"] = FORMAT
    origin: str = "prices"
    as_of: date | None = None
    licence: str | None = None
    addresses: Mapping[str, str] = {}
    rows: tuple[RowRecord, ...] = ()


class UnusablePrices(ValueError):
    """A file of prices cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class PriceFile:
    """What a file has: a table, and by provider what addresses of it begin with."""

    table: Table
    addresses: Mapping[str, str]


def read(path: Path) -> PriceFile:
    """Return what the file at *path* has.

    It is one of ours, a list of rows, or a list in the format of OpenRouter, LiteLLM or
    AgentCompiler; a name that ends in ``.yaml`` or ``.yml`` says that it is YAML.

    Raises:
        UnusablePrices: It cannot be read, or is none of these.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UnusablePrices(f"{path}: {error}") from error
    try:
        return parsed(text, path.stem, is_yaml=path.suffix in (".yaml", ".yml"))
    except UnusablePrices as error:
        raise UnusablePrices(f"{path}: {error}") from error


def parsed(text: str, name: str, *, is_yaml: bool = False) -> PriceFile:
    """Return what *text* has, a file without a name of its own for where it comes from.

    Raises:
        UnusablePrices: It is in none of the known formats.
    """
    try:
        value = yaml.safe_load(text) if is_yaml else json.loads(text, parse_float=Decimal)
        return _of(value, name)
    except ValidationError as error:
        raise UnusablePrices("\n".join(_faults(error))) from error
    except (*_UNREADABLE, yaml.YAMLError) as error:
        raise UnusablePrices(str(error)) from error


def _of(value: Any, name: str) -> PriceFile:
    for format_ in (openrouter, litellm, agent_compiler):
        if format_.fits(value):
            return PriceFile(Table(Origin(name), format_.rows(value)), {})
    if isinstance(value, list):
        value = {"origin": name, "rows": value}
    if not isinstance(value, dict):
        raise UnusablePrices("it is neither a list of rows nor an object that has them")
    record = FileRecord.model_validate(value)
    return PriceFile(Table(Origin(record.origin, record.as_of), record.rows), record.addresses)


def _faults(error: ValidationError) -> list[str]:
    faults = error.errors(include_url=False, include_input=False)
    lines = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in faults[:10]]
    return lines if len(faults) <= len(lines) else [*lines, f"and {len(faults) - 10} more"]


def written(record: FileRecord) -> str:
    """Return *record* as the text of a file, a row a line, so that changes can be read."""
    head = record.model_dump(mode="json", exclude={"rows"}, exclude_none=True)
    lines = ",\n".join(json.dumps(row_of(row), ensure_ascii=False) for row in record.rows)
    return f'{json.dumps(head, indent=1, ensure_ascii=False)[:-2]},\n "rows": [\n{lines}\n]}}\n'


def row_of(row: RowRecord) -> dict[str, Any]:
    """Return *row* as a file has it, without what goes without saying."""
    found = row.model_dump(by_alias=True, exclude_defaults=True, exclude_none=True)
    ordered = {name: found[name] for name in sorted(found, key=_place)}
    return {name: _plain(value) for name, value in ordered.items()}


def _place(name: str) -> int:
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


def _plain(value: Any) -> Any:
    match value:
        case Decimal():
            whole = value == value.to_integral_value()
            return int(value) if whole else float(value.normalize())
        case date():
            return value.isoformat()
        case Mapping():
            return {name: _plain(inner) for name, inner in value.items() if inner is not None}
        case Sequence() if not isinstance(value, str):
            return [_plain(inner) for inner in value]
        case _:
            return value
