"""The command ``responses``: erasing those that are kept of a key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import anyio
import typer

from gateway.config import Config, ConfigError, load
from gateway.loading import FILE, stop
from gateway.stores.database.engine import DatabaseLost, DatabaseUnusable, opened
from gateway.stores.responses.table import ResponseTable

commands = typer.Typer(no_args_is_help=True, help="Responses that are kept.")

_KEY = typer.Option("--key", help="The name of a key; '' for a gateway without keys.")


@commands.callback()
def _several() -> None:
    """Have the command keep its name although it is the only one."""


@commands.command()
def erase(key: Annotated[str, _KEY], config: Annotated[Path | None, FILE] = None) -> None:
    """Erase all responses of a key, with what was said in them."""
    try:
        stated = load(config)
        if not stated.database.kept:
            stop("database.url is none: no response is kept")
        gone = anyio.run(_erased, stated, key)
    except ConfigError as error:
        stop(str(error))
    except (DatabaseUnusable, DatabaseLost) as error:
        stop(f"database.url: {error}")
    typer.echo(f"Erased {gone} {'response' if gone == 1 else 'responses'}.")


async def _erased(stated: Config, key: str) -> int:
    async with opened(stated.database.url) as database:
        table, gone = ResponseTable(database), 0
        while found := await table.erase(key):
            gone += found
        return gone
