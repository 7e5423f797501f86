"""Several processes that do the same: replaced when they die, told to stop together."""

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
from typing import Final

import structlog
from prometheus_client.multiprocess import mark_process_dead
from uvicorn.config import STARTUP_FAILURE

_AGAIN_S: Final = 0.5
"""How long to wait before one that died is replaced."""

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


class Workers:
    """As many processes as were asked for, each carrying out ``work(listening)``."""

    def __init__(
        self, count: int, work: Callable[[socket.socket], None], listening: socket.socket
    ) -> None:
        self._count = count
        self._work = work
        self._listening = listening
        self._processes: list[SpawnProcess] = []
        self._told = 0

    def run(self) -> int:
        """Keep them running until SIGTERM, SIGINT or SIGHUP; return the exit code.

        Each signal is passed on at once, as SIGTERM. The third one kills.
        """
        for told in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(told, self._tell)
        for _ in range(self._count):
            self._start()
        code = 0
        while self._processes:
            wait([process.sentinel for process in self._processes])
            code = max([code, *map(self._ended, self._dead())])
        return code

    def _start(self) -> None:
        process = multiprocessing.get_context("spawn").Process(
            target=self._work, args=(self._listening,)
        )
        process.start()
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
