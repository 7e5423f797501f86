"""Runs the application under uvicorn, in one process or in several."""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from multiprocessing import parent_process
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from types import FrameType
from typing import Final

import anyio
import structlog
import typer
import uvicorn

from gateway.app import App
from gateway.config import Config, Secrets, hand_down, handed_down, secrets
from gateway.loading import Unfit
from gateway.pastes import pastes
from gateway.reloading import Reloader, reread
from gateway.wiring import Parts, running
from gateway.workers import RELOADS, UNFIT, Workers, end_with_parent, hung_up
from router_service.groundwork.logs import set_up_logging
from router_service.groundwork.server import (
    BACKLOG,
    DIED,
    SWITCH_S,
    Server,
    uvicorn_settings,
)

_CLOSE_S: Final = 2
"""How long what was cut off may take to close."""

_log = structlog.get_logger()


def serve(config: Config, known: Secrets, path: Path | None, *, keyed: bool) -> None:
    """Serve *config*, which was loaded from *path*, until SIGTERM or SIGINT.

    *keyed* tells that callers need a key. Open answers then have ``server.drain_s`` seconds to end.
    """
    set_up_logging()
    with socket.socket(_family(config.server.host)) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((config.server.host, config.server.port))
            listening.listen(BACKLOG)  # who comes before the workers are there has to wait, only
        except OSError as error:
            typer.echo(
                f"error: server: {error.strerror}: {config.server.host}:{config.server.port}; "
                "choose another with server.port or LOCKGATE_SERVER__PORT",
                err=True,
            )
            raise typer.Exit(2) from error
        listening.set_inheritable(True)
        _greet(config, listening.getsockname()[1], keyed=keyed)
        if config.server.workers > 1:
            _serve_many(config, known, path, listening)
        else:
            _run(Reloader(path, known, lambda: tuned(config, known)), config, listening)


class _Server(Server):
    """A server that, told to stop, refuses new requests with 503 while open answers end.

    Where a service has died they are cut off. uvicorn alone would close its socket at once, and a
    balancer would see refused connections.
    """

    def __init__(
        self, settings: uvicorn.Config, application: App, drain_s: float, tick: Callable[[], None]
    ) -> None:
        super().__init__(settings)
        self._application = application
        self._tick = tick
        self._drain_s = drain_s
        self._closes_at = 0.0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop; told a second time, stop at once."""
        gate = self._application.gate
        if gate is None:  # still starting
            super().handle_exit(sig, frame)
        elif sig == signal.SIGINT and parent_process() is not None:
            pass  # a terminal tells every process, and the parent tells this one
        else:
            self._closes_at = 0.0 if gate.closing else monotonic() + self._drain_s
            gate.closing = True

    async def on_tick(self, counter: int) -> bool:
        """Stop when the last open answer has ended; when the time for it has, cut off the rest."""
        self._tick()
        gate = self._application.gate
        if gate is not None and gate.closing:
            if monotonic() >= self._closes_at:
                for task in self.server_state.tasks:
                    task.cancel()
                self.should_exit = True
            self.should_exit |= not gate.inside
        return await super().on_tick(counter)


@asynccontextmanager
async def tuned(
    config: Config, known: Secrets, *, several: bool = False
) -> AsyncGenerator[Parts, None]:
    """Open the gateway's parts, with the collector told that what is there now will stay.

    Where a router learns beside the requests, it is made to give way more often.
    """
    async with running(config, known, several=several) as parts:
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        if config.router.type != "fixed" and not config.router.url:
            sys.setswitchinterval(SWITCH_S)
        yield parts


def _serve_many(
    config: Config, known: Secrets, path: Path | None, listening: socket.socket
) -> None:
    def renewed(served: Config) -> Config | None:
        try:
            return anyio.run(reread, path, served, known).config
        except Unfit as unfit:
            _log.error("config.refused", cause="signal", errors=list(unfit.lines))
        except Exception:  # noqa: BLE001 - one of the boundaries: its workers would end with it
            _log.exception("config.failed", cause="signal")
        return None

    with TemporaryDirectory(prefix="lockgate-metrics-") as counted:
        hand_down(path, counted)
        count = config.server.workers
        code = Workers(count, _work, listening, given=config, renewed=renewed).run()
    raise typer.Exit(code)


def _work(listening: socket.socket, config: Config) -> None:
    """Be one of several worker processes."""
    end_with_parent()
    set_up_logging()
    known = secrets()
    opened = partial(tuned, config, known, several=True)
    _run(Reloader(handed_down(), known, opened, _tell_parent), config, listening)


def _tell_parent() -> None:
    """Have the parent know that there is another configuration, and tell the other workers."""
    parent = parent_process()
    if parent is not None and parent.pid is not None:
        os.kill(parent.pid, signal.SIGHUP)


def _run(reloader: Reloader, config: Config, listening: socket.socket) -> None:
    application = App(reloader.opened, reloader)
    reloader.show = application.show
    for told_to_stop in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises it again at its end
        signal.signal(told_to_stop, lambda _signal, _frame: sys.exit(0))
    signal.signal(signal.SIGHUP, partial(_hang_up, reloader))
    signal.signal(UNFIT, lambda _signal, _frame: reloader.signal(unfit=True))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, RELOADS)
    settings = uvicorn_settings(application, config.server.idle_s, _CLOSE_S)
    server = _Server(settings, application, config.server.drain_s, reloader.tick)
    server.run(sockets=[listening])
    if server.died:
        sys.exit(DIED)


def _hang_up(reloader: Reloader, _signal: int, _frame: FrameType | None) -> None:
    """Reload; but where the terminal that it was started from is gone, stop."""
    if not hung_up():
        reloader.signal()
    elif parent_process() is None:  # which tells its workers
        os.kill(os.getpid(), signal.SIGTERM)


def _greet(config: Config, port: int, *, keyed: bool) -> None:
    host = config.server.host
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    address = f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"
    typer.echo(f"listening on {address}")
    typer.echo(f"what goes on: {address}/ui")
    typer.echo(pastes(address, config, keyed=keyed))
    sys.stdout.flush()


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
