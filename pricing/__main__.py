"""Prices on the command line: ``python -m pricing show | status | refresh | import``."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer

from pricing import refresh as refreshing
from pricing.book import Book, Wanted
from pricing.files import SHIPPED, FileRecord, UnusablePrices, read, written
from pricing.price import Price
from pricing.showing import lines, price_rows, price_table, status_of
from pricing.table import Table

commands = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

_JSON = typer.Option("--json", help="For programs.")
_PROVIDER = typer.Option("--provider", help="Whose prices; without one, of all that have it.")
_PRICES = typer.Option("--prices", help="A file of your own; it counts before all others.")
_TABLES = typer.Option("--table", help="An imported table; it counts before the shipped one.")
_CATALOGUE = typer.Option("--catalogue", help="A file in OpenRouter's format.")
_GUESS = typer.Option("--guess", help="Guess where nobody has a price.")
_ON = typer.Option("--on", metavar="YYYY-MM-DD", help="The day; without one, today.")
_OUTPUT = typer.Option("-o", "--output", help="The file to write.")
_STATUS: Final = ("table", "as_of", "age_days", "rows", "models", "providers")


class Maker(StrEnum):
    """Whose format a file is in."""

    LITELLM = "litellm"
    OPENROUTER = "openrouter"
    AGENT_COMPILER = "agent-compiler"


@commands.command()
def show(  # noqa: PLR0913 - each is an option of the command
    model: str,
    *,
    provider: Annotated[str | None, _PROVIDER] = None,
    prices: Annotated[Path | None, _PRICES] = None,
    table: Annotated[list[Path] | None, _TABLES] = None,
    catalogue: Annotated[Path | None, _CATALOGUE] = None,
    guess: Annotated[bool, _GUESS] = False,
    on: Annotated[str | None, _ON] = None,
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Tell what MODEL costs, and which row says so."""
    tables = [_table(path) for path in (*(table or ()), SHIPPED)]
    book = Book(
        own=[_table(prices)] if prices else [],
        catalogues=[_table(catalogue)] if catalogue else [],
        tables=tables,
        guess="record" if guess else "never",
    )
    found = list(_found(book, model, provider, _day(on)))
    if not found:
        _stop(f"Nobody has a price of {model!r}{f' at {provider}' if provider else ''}.")
    rows = [row for price in found for row in price_rows(price)]
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    typer.echo("Dollars per million tokens; per_request and image each.")
    typer.echo(price_table(rows))


@commands.command()
def status(*, as_json: Annotated[bool, _JSON] = False) -> None:
    """Tell how old the shipped table is, and what it has."""
    known = status_of(_table(SHIPPED), _today())
    typer.echo(json.dumps(known) if as_json else lines(_STATUS, [known]))


@commands.command()
def refresh(*, output: Annotated[Path, _OUTPUT] = SHIPPED) -> None:
    """Make the shipped table anew, from the data of genai-prices as it is installed."""
    try:
        record = refreshing.refreshed(refreshing.providers(), _today())
    except refreshing.NoData as error:
        _stop(str(error))
    before = _table(output).rows if output.exists() else ()
    counts = refreshing.changes(before, record.rows)
    _write(output, record)
    told = ", ".join(f"{count} {what}" for what, count in counts.items())
    typer.echo(f"Written to {output}: {len(record.rows)} rows as of {record.as_of}; {told}.")


@commands.command("import")
def import_(
    maker: Maker, file: Path, *, output: Annotated[Path, _OUTPUT] = Path("prices.json")
) -> None:
    """Turn FILE, which is in the format of MAKER, into a table of ours.

    Name the file that comes of it in the configuration: in `pricing.tables` as a list of prices
    that holds until you say otherwise, in `pricing.prices` as your own word.
    """
    table = _table(file)
    if not table.rows:
        _stop(f"{file}: it has no priced model in it.")
    _write(output, FileRecord(origin=maker.value, as_of=_today(), rows=tuple(table.rows)))
    typer.echo(f"Written to {output}: {len(table.rows)} rows as of {_today()}.")


def _found(book: Book, model: str, provider: str | None, day: date) -> list[Price]:
    owners = [provider] if provider else sorted(book.providers())
    found = [book.price(Wanted(owner, model), day) for owner in owners]
    return [price for price in found if price is not None]


def _table(path: Path) -> Table:
    try:
        return read(path).table
    except UnusablePrices as error:
        _stop(str(error))


def _write(output: Path, record: FileRecord) -> None:
    try:
        output.write_text(written(record), "utf-8")
    except OSError as error:
        _stop(f"{output}: {error.strerror}")


def _day(text: str | None) -> date:
    try:
        return date.fromisoformat(text) if text else _today()
    except ValueError:
        _stop(f"{text!r} is no day such as 2026-01-31.")


def _today() -> date:
    return datetime.now(UTC).date()


def _stop(message: Any) -> NoReturn:
    for line in str(message).splitlines():
        typer.echo(f"error: {line}", err=True)
    raise typer.Exit(2)


if __name__ == "__main__":
    commands()
