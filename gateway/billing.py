"""The command ``bill``: what calls came to in a period, read from the database."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import anyio
import orjson
import typer

from gateway.config import Config, ConfigError, load
from gateway.loading import FILE, stop
from gateway.planning.options import meant
from gateway.policy.asked import Faulty
from gateway.stores.database.bills import GROUPS, TOKENS, Bill, Sums
from gateway.stores.database.engine import Database, DatabaseLost, DatabaseUnusable, read_only
from gateway.stores.database.ledger import LedgerTable
from gateway.stores.database.owners import OwnerTables
from gateway.stores.database.rows import moment
from gateway.stores.database.sought import FILTERS, Sought
from gateway.surfaces.bill import bill_csv, billed, in_period, told_bill
from gateway.surfaces.seeking import fields_of, groups_of, sought_of
from gateway.tabling import table
from pricing.cost import dollars
from techniques.core.json import JsonObject

_ALWAYS: Final = ("input_tokens", "output_tokens")
_GUESSED: Final = "estimated"


class Format(StrEnum):
    """How a bill is told."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


_ONLY = typer.Argument(
    metavar="FIELD=VALUE", help=f"Only rows of which this holds: {', '.join(FILTERS)}."
)
_SINCE = typer.Option("--since", help="From when on; without it, since this month began (UTC).")
_UNTIL = typer.Option("--until", help="Until when; that instant is not in it. Without it, now.")
_BY = typer.Option("--by", help=f"What to part it by, commas between: {', '.join(GROUPS)}.")
_FORMAT = typer.Option("--format", help="How to tell it.")


def bill(  # noqa: PLR0913 - each is an option of the command
    only: Annotated[list[str] | None, _ONLY] = None,
    *,
    since: Annotated[str, _SINCE] = "",
    until: Annotated[str, _UNTIL] = "",
    by: Annotated[str, _BY] = "key,model",
    form: Annotated[Format, _FORMAT] = Format.TABLE,
    config: Annotated[Path | None, FILE] = None,
) -> None:
    """Tell what calls came to in a period, by key and model or as you like."""
    try:
        stated = load(config)
        pairs = [("since", since), ("until", until), *map(_pair, only or ())]
        sought = in_period(sought_of(fields_of(pairs, ())), datetime.now(UTC))
        if not stated.database.kept:
            stop("database.url is none: what calls cost is not kept")
        told, hints = anyio.run(_read, stated, sought, groups_of(by))
    except (ConfigError, Faulty) as error:
        stop(str(error))
    except (DatabaseUnusable, DatabaseLost) as error:
        stop(f"database.url: {error}")
    typer.echo(_rendered(told, sought, form))
    for line in hints:
        typer.echo(f"note: {line}", err=True)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise Faulty("", f"{text!r} is not FIELD=VALUE")
    return name, value


async def _read(stated: Config, sought: Sought, by: Sequence[str]) -> tuple[Bill, Sequence[str]]:
    """Return the bill, and of one of nothing what may be why."""
    async with read_only(stated.database.url) as database:
        told = await billed(LedgerTable(database), sought, by)
        if told.total.calls:
            return told, ()
        return told, [line async for line in _unknown(stated, database, sought)]


async def _unknown(stated: Config, database: Database, sought: Sought) -> AsyncGenerator[str, None]:
    """Yield what is *sought* by a name that nobody has or had, with one that it is like."""
    owners, ledger = OwnerTables(database), LedgerTable(database)
    known = {
        "key": [*(key.name for key in stated.keys), *(key.name for key in await owners.keys())],
        "team": [
            *(team.name for team in stated.teams),
            *(team.name for team in await owners.teams()),
        ],
        "model": [model.name for model in stated.models],
        "provider": list(stated.providers),
    }
    for field, names in known.items():
        name = getattr(sought, field)
        if name and name not in names and not await ledger.rows(Sought(**{field: name}, limit=1)):
            yield f"no {field} is called {name!r}.{meant(name, names)}"


def _rendered(told: Bill, sought: Sought, form: Format) -> str:
    match form:
        case Format.CSV:
            return bill_csv(told).removesuffix("\r\n")
        case Format.JSON:
            return orjson.dumps(told_bill(told, sought), option=orjson.OPT_INDENT_2).decode()
        case Format.TABLE:
            return _table(told, sought)


def _table(told: Bill, sought: Sought) -> str:
    """Return *told* with a column for what is never zero in all lines, the total below a rule."""
    total = told.total
    used = [n for n, name in enumerate(TOKENS) if total.counts[n] or name in _ALWAYS]
    money = ["usd", *(["unknown"] * bool(total.unknown)), *([_GUESSED] * bool(total.estimated))]
    numbers = ["calls", *(_short(TOKENS[n]) for n in used), *money]
    lines = told.lines if told.by else ()
    digits = max(map(_decimals, (*(line.sums for line in lines), total)))
    rows = [
        {**dict(zip(told.by, line.group, strict=True)), **_cells(line.sums, digits)}
        for line in lines
    ]
    rows.append({**_named(told.by), **_cells(total, digits)})
    *above, last = table([*told.by, *numbers], rows, numbers).splitlines()
    head = f"{moment(sought.since or 0)} to {moment(sought.until or 0)}"
    rule = "-" * max(map(len, (*above, last)))
    return "\n".join([head, "", *above, rule, last, *_remarks(total)])


def _cells(sums: Sums, digits: int) -> JsonObject:
    """Return *sums* for people, money with so many *digits* after the point."""
    counts = {_short(name): f"{n:,}" for name, n in zip(TOKENS, sums.counts, strict=True)}
    return {
        "calls": f"{sums.calls:,}",
        **counts,
        "usd": ("≥ " if sums.unknown else "") + _money(sums.cost, digits),
        "unknown": f"{sums.unknown:,}",
        _GUESSED: _money(sums.estimated_cost, digits),
    }


def _short(name: str) -> str:
    return name.removesuffix("_tokens")


def _decimals(sums: Sums) -> int:
    """Return how many digits after the point the money of *sums* has, two at least."""
    money = sums.cost, sums.estimated_cost
    return max(2, *(len(dollars(cost).partition(".")[2]) for cost in money))


def _money(cost: int, digits: int) -> str:
    whole, _, rest = dollars(cost).partition(".")
    return f"{int(whole):,}.{rest.ljust(digits, '0')}"


def _named(by: Sequence[str]) -> JsonObject:
    """Return the fields of the last line that say that it is the total."""
    return {name: "" if place else "total" for place, name in enumerate(by)}


def _remarks(total: Sums) -> Iterator[str]:
    """Yield what one has to know of the sum."""
    if total.unknown or total.estimated:
        yield ""
    if total.unknown:
        yield f"What {_calls(total.unknown)} cost is not known, and not in the sum."
    if total.estimated:
        part = dollars(total.estimated_cost)
        yield f"The tokens of {_calls(total.estimated)} were estimated: {part} of the sum."


def _calls(number: int) -> str:
    return f"{number:,} {'call' if number == 1 else 'calls'}"
