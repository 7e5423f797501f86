"""Runs programs as processes of this host, behind the walls that its kernel can put up."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Final

import anyio

from gateway.sandbox import jail
from gateway.sandbox.command import Command, carried_out
from gateway.sandbox.limits import Limits
from techniques.core.task import Ran

_START_S: Final = 5.0  # for what comes before the program, on a busy machine too


class ProcessSandbox:
    """A sandbox of processes, *at_once* of them at most; others wait for their turn.

    *trusted*: no walls. Limits hold then, but a program can read and write what the gateway can.
    """

    def __init__(self, limits: Limits, *, at_once: int = 2, trusted: bool = False) -> None:
        self._limits = limits
        self._turns = anyio.Semaphore(at_once)
        self._settings = {
            "walls": not trusted,
            "python": str(_interpreter()),
            "visible": [str(path) for path in _outermost(_needed())],
            "limits": asdict(limits),
        }

    async def run(self, program: str) -> Ran:
        """Run the Python *program* and return what it did."""
        async with self._turns:
            with tempfile.TemporaryDirectory(
                prefix="lockgate-", ignore_cleanup_errors=True
            ) as folder:
                return await self._run(program, folder)

    async def _run(self, program: str, folder: str) -> Ran:
        settings = json.dumps(self._settings | {"root": folder})
        command = Command(
            (sys.executable, "-I", "-S", jail.__file__, settings),
            program.encode(errors="replace"),
            self._limits.seconds + _START_S,
            self._limits,
            environment={},
            folder=folder,
        )
        try:
            return (await carried_out(command)).ran
        except OSError as error:
            return Ran("unavailable", err=f"{error}.")


def _interpreter() -> Path:
    """Return this interpreter by a path of real directories, so that it finds its packages."""
    return Path(sys.executable).parent.resolve() / Path(sys.executable).name


def _needed() -> Iterable[Path]:
    """Return what an interpreter needs to be able to read."""
    ours = (Path(prefix).resolve() for prefix in (sys.prefix, sys.base_prefix))
    libraries = map(Path, ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache"))
    return (*ours, *(path for path in libraries if path.exists() and not path.is_symlink()))


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Return *paths* without those inside another."""
    found: list[Path] = []
    for path in sorted(set(paths)):
        if not any(path.is_relative_to(outer) for outer in found):
            found.append(path)
    return found
