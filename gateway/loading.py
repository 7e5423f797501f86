"""What every command begins with: a configuration that can be used, or an end that says why not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NoReturn

import anyio
import anyio.to_thread
import typer

from gateway.config import Config, ConfigError, Secrets, load, secrets
from gateway.keeping import stored_keys
from gateway.preflight import faults, needs_keys
from gateway.stores.database.engine import DatabaseUnusable

FILE = typer.Option("-c", "--config", help="The configuration file; none: embedded defaults.")


class Unfit(Exception):
    """The configuration cannot be used: a line for each fault, with its path."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = tuple(lines)


def read(file: Path | None, known: Secrets) -> Config:
    """Return the configuration in *file*.

    Raises:
        Unfit: It cannot be read, or a field is wrong, missing or unknown.
    """
    try:
        return load(file)
    except ConfigError as error:
        more = faults(error.rest, known) if error.rest is not None else []
        told = str(error).splitlines()
        raise Unfit([*told, *(line for line in more if not error.follows(line))]) from error


async def judge(loaded: Config, known: Secrets) -> None:
    """Look at all that a file can say which cannot work.

    Raises:
        Unfit: Something of it cannot.
    """
    stored = False
    try:
        stored = needs_keys(loaded) and await stored_keys(loaded)
    except DatabaseUnusable as error:
        raise Unfit([f"database.url: {error}"]) from error
    find = partial(faults, loaded, known, stored_keys=stored)
    if problems := await anyio.to_thread.run_sync(find):
        raise Unfit(problems)


def checked(file: Path | None) -> tuple[Config, Secrets]:
    """Return the configuration in *file* and the secrets; a fault ends the command."""
    known = secrets()
    try:
        loaded = read(file, known)
        anyio.run(judge, loaded, known)
    except Unfit as unfit:
        stop(str(unfit))
    return loaded, known


def stamp(file: Path | None) -> tuple[int, ...]:
    """Return by what it is seen that *file* is another, without reading it."""
    if file is None:
        return ()
    try:
        found = file.stat()
    except OSError:
        return ()
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def stop(message: str) -> NoReturn:
    """End the command: *message* has a line for each fault."""
    for line in message.splitlines():
        typer.echo(f"error: {line}", err=True)
    raise typer.Exit(2)
