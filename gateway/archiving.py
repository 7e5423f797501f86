"""The command ``runs``: which runs are kept, and erasing those of a key."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Final, TypeAlias, TypeVar

import anyio
import orjson
import typer

from gateway.bookkeeping import journal_of
from gateway.config import Config as Stated
from gateway.config import ConfigError, load
from gateway.loading import FILE, stop
from gateway.stores.database.engine import DatabaseLost, DatabaseUnusable, opened
from gateway.stores.journal.journal import Journal, JournalLost, Sought
from gateway.stores.journal.memory import wall_ms
from gateway.surfaces.run_view import brief_of
from gateway.tabling import table

commands = typer.Typer(no_args_is_help=True, help="Runs that are written down.")

_MOST: Final = 1000
_KEY = typer.Option("--key", help="The name of a key; '' for a gateway without keys.")
_JSON = typer.Option("--json", help="Tell it in JSON.")
_LIMIT = typer.Option("--limit", min=1, max=_MOST, help="How many, the latest first.")
_SHOWN: Final = ("key", "id", "state", "technique", "model", "session", "calls", "cost_usd")
Config: TypeAlias = Annotated[Path | None, FILE]
ResultT = TypeVar("ResultT")


@commands.command("list")
def list_runs(
    key: Annotated[str | None, _KEY] = None,
    limit: Annotated[int, _LIMIT] = 20,
    config: Config = None,
    *,
    in_json: Annotated[bool, _JSON] = False,
) -> None:
    """List runs, of a key or of all."""
    found = _done(config, lambda journal: journal.listed(Sought(key, limit=limit)))
    told = [{"key": one.record.name.owner, **brief_of(one, wall_ms())} for one in found]
    if in_json:
        typer.echo(orjson.dumps({"runs": told}, option=orjson.OPT_INDENT_2).decode())
        return
    typer.echo(table(_SHOWN, told))


@commands.command()
def erase(key: Annotated[str, _KEY], config: Config = None) -> None:
    """Erase all runs of a key, with their steps and answers; what they cost stays in the ledger."""
    gone = _done(config, lambda journal: journal.erase(key))
    typer.echo(f"Erased {gone} {'run' if gone == 1 else 'runs'}.")


def _done(file: Path | None, ask: Callable[[Journal], Awaitable[ResultT]]) -> ResultT:
    """Return what *ask* does with the journal of the configuration in *file*."""

    async def done() -> ResultT:
        async with _journal(stated) as journal:
            return await ask(journal)

    try:
        stated = load(file)
        return anyio.run(done)
    except ConfigError as error:
        stop(str(error))
    except (DatabaseUnusable, DatabaseLost) as error:
        stop(f"database.url: {error}")
    except JournalLost as error:
        stop(f"journal: {error}")


@asynccontextmanager
async def _journal(stated: Stated) -> AsyncGenerator[Journal, None]:
    kept = stated.journal.durability
    if kept == "redis":
        async with journal_of(stated, None) as journal:
            yield journal
    elif kept == "database" and stated.database.kept:
        from gateway.stores.journal.sql import sql_journal

        url = stated.database.url
        async with opened(url) as database, sql_journal(database, url) as journal:
            yield journal
    else:
        stop("Runs are kept in the memory of the gateway: ask it, with DELETE /admin/runs?key=NAME")
