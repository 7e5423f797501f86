"""What every command begins with: a configuration that can be used, or an end that says why not."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import anyio
import typer

from gateway.config import Config, ConfigError, Secrets, load, secrets
from gateway.keeping import stored_keys
from gateway.preflight import faults, needs_keys
from gateway.stores.database.engine import DatabaseUnusable

FILE = typer.Option("-c", "--config", help="The configuration file; none: embedded defaults.")


def checked(file: Path | None) -> tuple[Config, Secrets]:
    """Return the configuration in *file* and the secrets; a fault ends the command."""
    known = secrets()
    try:
        loaded = load(file)
    except ConfigError as error:
        more = faults(error.rest, known) if error.rest is not None else []
        stop("\n".join([str(error), *(line for line in more if not error.follows(line))]))
    stored = False
    try:
        stored = needs_keys(loaded) and anyio.run(stored_keys, loaded)
    except DatabaseUnusable as error:
        stop(f"database.url: {error}")
    if problems := faults(loaded, known, stored_keys=stored):
        stop("\n".join(problems))
    return loaded, known


def stop(message: str) -> NoReturn:
    """End the command: *message* has a line for each fault."""
    for line in message.splitlines():
        typer.echo(f"error: {line}", err=True)
    raise typer.Exit(2)
