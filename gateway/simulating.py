"""The command ``simulate``: the simulated provider as a server of its own."""

from __future__ import annotations

import socket
import sys
from typing import Annotated, Final

import typer
import uvicorn
from pydantic import ValidationError

from gateway.config import SimulatedConfig
from gateway.loading import stop
from gateway.upstream.simulated.server import SimulatedServer
from gateway.upstream.simulated.settings import Simulation, Vendor

_CLOSE_S: Final = 2

_HOST = typer.Option("--host", help="The address to listen on.")
_PORT = typer.Option("--port", min=0, max=65535, help="The port; 0: any that is free.")
_SEED = typer.Option("--seed", help="What all chance derives from.")
_VENDOR = typer.Option("--vendor", help="Whose rate-limit headers are sent.")
_RPM = typer.Option("--rpm", help="Requests a minute of each account; without it, no limit.")
_TPM = typer.Option("--tpm", help="Tokens a minute of each account; without it, no limit.")
_SPEED = typer.Option("--speed", help="How many times a real model's pace; 0: at once.")
_FAIL = typer.Option("--fail-every", help="Every so many calls one fails with 500.")


def simulate(  # noqa: PLR0913 - each is an option of the command
    *,
    host: Annotated[str, _HOST] = "127.0.0.1",
    port: Annotated[int, _PORT] = 8090,
    seed: Annotated[int, _SEED] = 0,
    vendor: Annotated[Vendor, _VENDOR] = "openai",
    rpm: Annotated[int | None, _RPM] = None,
    tpm: Annotated[int | None, _TPM] = None,
    speed: Annotated[float, _SPEED] = 1.0,
    fail_every: Annotated[int | None, _FAIL] = None,
) -> None:
    """Serve the simulated models over HTTP, as a provider does: with limits, and with pauses.

    Every API key is an account with limits of its own.
    """
    try:
        stated = SimulatedConfig(
            seed=seed, vendor=vendor, rpm=rpm, tpm=tpm, speed=speed, fail_every=fail_every
        )
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        stop("\n".join(f"--{_option(fault['loc'])}: {fault['msg']}" for fault in faults))
    server = SimulatedServer(Simulation(**stated.model_dump()))
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
            listening.listen()  # who comes before it serves has to wait, and is not refused
        except OSError as error:
            stop(f"--port: {error.strerror}: {host}:{port}")
        _serve(server, listening)


def _option(place: tuple[int | str, ...]) -> str:
    return "-".join(map(str, place)).replace("_", "-")


def _serve(server: SimulatedServer, listening: socket.socket) -> None:
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    typer.echo(f"simulating at http://{shown}:{port}/v1")
    sys.stdout.flush()
    settings = uvicorn.Config(
        server.application(),
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=_CLOSE_S,
    )
    uvicorn.Server(settings).run(sockets=[listening])
