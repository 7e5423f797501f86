"""Runs a command as a process of its own, fed, heard and ended with everything it started."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import anyio
from anyio.abc import ByteReceiveStream, Process

from gateway.sandbox import jail
from gateway.sandbox.limits import Limits
from techniques.core.groups import task_group
from techniques.core.task import Ran

_LAST_WORDS_S: Final = 1.0
"""For what an ended command has written; only a process that escaped it can write more."""


@dataclass(frozen=True, slots=True)
class Command:
    """*words* to run with *given* as input, for *seconds* at most, its start included.

    ``environment`` None: the gateway's own.
    """

    words: Sequence[str]
    given: bytes
    seconds: float
    limits: Limits
    environment: Mapping[str, str] | None = None
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended, and what it wrote. ``status`` None: it was stopped, being too slow.

    Negative: a signal ended it, as it does one that writes without end.
    """

    status: int | None
    out: str
    err: str

    @property
    def ran(self) -> Ran:
        """What became of the program, if the command was to run one and ends as ``jail`` does."""
        match self.status:
            case None | jail.STOPPED:
                return Ran("timeout", self.out, self.err)
            case jail.NOT_RUN:
                return Ran("unavailable", err=self.err)
            case status:
                return Ran("failed" if status else "ok", self.out, self.err)


async def carried_out(command: Command) -> Outcome:
    """Run *command*; however this is left, its process and its group are gone then.

    Raises:
        OSError: It cannot be started.
    """
    process = await anyio.open_process(
        command.words, cwd=command.folder, env=command.environment, start_new_session=True
    )
    out, err = (_Kept(command.limits.kept) for _ in range(2))
    async with process:
        try:
            with anyio.move_on_after(command.seconds) as patience:
                async with task_group() as tasks:
                    tasks.start_soon(_feed, process, command.given)
                    for stream, kept in ((process.stdout, out), (process.stderr, err)):
                        tasks.start_soon(_hear, process, stream, kept, command.limits.flood)
                    await process.wait()
                    _kill(process)
                    patience.deadline = anyio.current_time() + _LAST_WORDS_S
        finally:
            status = process.returncode
            _kill(process)
    return Outcome(status, out.text, err.text)


def _kill(process: Process) -> None:
    """Kill *process* and all of its group that are left."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


async def _feed(process: Process, given: bytes) -> None:
    assert process.stdin is not None
    with suppress(anyio.BrokenResourceError, OSError):  # who does not read it does not need it
        await process.stdin.send(given)
        await process.stdin.aclose()


async def _hear(
    process: Process, stream: ByteReceiveStream | None, kept: _Kept, flood: int
) -> None:
    assert stream is not None
    async for piece in stream:
        kept.add(piece)
        if kept.heard > flood:
            _kill(process)
            break


class _Kept:
    """The start and the end of a long text, of *most* bytes together."""

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._start = b""
        self._end = b""
        self.heard = 0

    def add(self, piece: bytes) -> None:
        self.heard += len(piece)
        room = self._half - len(self._start)
        self._start += piece[:room]
        self._end = (self._end + piece[room:])[-self._half :]

    @property
    def text(self) -> str:
        lost = self.heard - len(self._start) - len(self._end)
        gap = f"\n[... {lost} bytes left out ...]\n".encode() if lost else b""
        return (self._start + gap + self._end).decode(errors="replace")
