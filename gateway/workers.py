"""Several processes that do the same: replaced when they die, told things together."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from types import FrameType
from typing import Final, Generic, TypeVar

import structlog
from prometheus_client.multiprocess import mark_process_dead
from uvicorn.config import STARTUP_FAILURE

_AGAIN_S: Final = 0.5
"""How long to wait before one that died is replaced."""

UNFIT: Final = signal.SIGUSR1
"""Tells a worker to reload although its parent found that it cannot."""
RELOADS: Final = frozenset({signal.SIGHUP, UNFIT})

GivenT = TypeVar("GivenT")

_log = structlog.get_logger()


def end_with_parent() -> None:
    """Tell this process to stop when the one that started it is gone, however it ended.

    Killed outright, a parent can tell nobody; its workers would keep the port for ever.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_stop_after, args=(parent.sentinel,), daemon=True).start()


def _stop_after(sentinel: int) -> None:
    wait([sentinel])
    os.kill(os.getpid(), signal.SIGTERM)


class Workers(Generic[GivenT]):
    """As many processes as were asked for, each carrying out ``work(listening, given)``.

    *renewed* gives what is given to those that are started after a reload, None: there is none.
    """

    def __init__(
        self,
        count: int,
        work: Callable[[socket.socket, GivenT], None],
        listening: socket.socket,
        *,
        given: GivenT,
        renewed: Callable[[GivenT], GivenT | None],
    ) -> None:
        self._count = count
        self._work = work
        self._listening = listening
        self._given = given
        self._renewed = renewed
        self._processes: list[SpawnProcess] = []
        self._told = 0
        self._bell, self._ringer = multiprocessing.Pipe(duplex=False)

    def run(self) -> int:
        """Keep them running until SIGTERM or SIGINT; return the exit code.

        Each of these is passed on at once, as SIGTERM. The third one kills. SIGHUP is passed on
        when what it asks for has been looked at and is fit, else as ``UNFIT``.
        """
        for told in (signal.SIGTERM, signal.SIGINT):
            signal.signal(told, self._tell)
        signal.signal(signal.SIGHUP, self._ring)
        for _ in range(self._count):
            self._start()
        code = 0
        while self._processes:
            ready = wait([self._bell, *(process.sentinel for process in self._processes)])
            code = max([code, *map(self._ended, self._dead())])
            if self._bell in ready:
                self._reload()
        return code

    def _start(self) -> None:
        process = multiprocessing.get_context("spawn").Process(
            target=self._work, args=(self._listening, self._given)
        )
        signal.pthread_sigmask(signal.SIG_BLOCK, RELOADS)  # until it knows what to do
        process.start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, RELOADS)
        self._processes.append(process)
        if self._told:  # while it was being started
            process.terminate()

    def _dead(self) -> list[SpawnProcess]:
        return [process for process in self._processes if not process.is_alive()]

    def _ended(self, process: SpawnProcess) -> int:
        """Replace *process*, unless all are to stop; return the exit code that follows from it."""
        self._processes.remove(process)
        mark_process_dead(process.pid)
        if self._told:
            return 0
        _log.error("worker.died", pid=process.pid, exitcode=process.exitcode)
        if process.exitcode == STARTUP_FAILURE:  # it would be the same again
            self._tell(signal.SIGTERM, None)
            return STARTUP_FAILURE
        time.sleep(_AGAIN_S)
        if not self._told:
            self._start()
        return 0

    def _tell(self, _sig: int, _frame: FrameType | None) -> None:
        self._told += 1
        for process in self._processes:
            if self._told > 2:
                process.kill()
            else:
                process.terminate()

    def _ring(self, _sig: int, _frame: FrameType | None) -> None:
        if hung_up():
            self._tell(signal.SIGTERM, None)
        elif not self._bell.poll():
            self._ringer.send_bytes(b"!")

    def _reload(self) -> None:
        """Have all of them reload; of what is not fit each finds so itself, counts and tells it."""
        self._bell.recv_bytes()
        given = self._renewed(self._given)
        self._given = self._given if given is None else given
        for process in self._processes:
            if process.pid is not None and process.is_alive():
                os.kill(process.pid, UNFIT if given is None else signal.SIGHUP)


def hung_up() -> bool:
    """Tell whether the terminal that this process was started from is gone."""
    return _AT_TERMINAL and not _has_terminal()


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


_AT_TERMINAL: Final = _has_terminal() and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN
"""Under ``nohup`` nobody minds that it goes."""
