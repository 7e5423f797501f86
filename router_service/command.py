"""The command that serves the router: ``lockgate router``, ``python -m router_service``."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer

from router_service.fitting.command import fit, inspect

if TYPE_CHECKING:
    from router_service.process.config import ProcessSettings

_IDLE_S: Final = 75.0
_FILE = typer.Option("-c", "--config", help="The configuration file; none: the defaults.")


commands = typer.Typer(invoke_without_command=True, add_completion=False)
commands.command("fit")(fit)
commands.command("inspect")(inspect)


@commands.callback()
def serve(context: typer.Context, config: Annotated[Path | None, _FILE] = None) -> None:
    """Serve the router over HTTP until it is told to stop.

    It decides for gateways whose configuration has its address as router.url.
    """
    if context.invoked_subcommand is not None:
        return
    from router_service.groundwork.server import BACKLOG
    from router_service.process.config import Unusable, load

    try:
        settings = load(config)
    except Unusable as error:
        _stop(str(error))
    _prepare(settings)
    host, port = settings.server.host, settings.server.port
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
            listening.listen(BACKLOG)  # who comes before it serves has to wait, and is not refused
        except OSError as error:
            _stop(f"server: {error.strerror}: {host}:{port}")
        _serve(settings, listening)


def _prepare(settings: ProcessSettings) -> None:
    """Bring the database up, or end with why it cannot be."""
    import anyio

    from router_service.groundwork.database import DatabaseUnusable, opened
    from router_service.store.steps import STEPS

    async def bring_up() -> None:
        async with opened(settings.database.url, STEPS):
            pass

    try:
        anyio.run(bring_up)
    except DatabaseUnusable as error:
        _stop(f"database.url: {error}")


def _serve(settings: ProcessSettings, listening: socket.socket) -> None:
    from router_service.app import application
    from router_service.groundwork.logs import set_up_logging
    from router_service.groundwork.server import DIED, SWITCH_S, Server, uvicorn_settings

    set_up_logging()
    sys.setswitchinterval(SWITCH_S)
    host, port = listening.getsockname()[:2]
    typer.echo(f"routing at http://{f'[{host}]' if ':' in host else host}:{port}")
    sys.stdout.flush()
    server = Server(uvicorn_settings(application(settings), _IDLE_S, settings.server.drain_s))
    server.run(sockets=[listening])
    if not server.started:
        raise typer.Exit(2)
    if server.died:
        raise typer.Exit(DIED)


def _stop(message: str) -> NoReturn:
    for line in message.splitlines():
        typer.echo(f"error: {line}", err=True)
    raise typer.Exit(2)
