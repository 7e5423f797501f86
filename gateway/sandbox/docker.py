"""Runs programs in containers of their own, by the docker command."""

from __future__ import annotations

import math
from secrets import token_hex
from typing import Final

import anyio

from gateway.sandbox import jail
from gateway.sandbox.command import Command, Outcome, carried_out
from gateway.sandbox.limits import Limits
from techniques.core.task import Ran

_START_S: Final = 5.0  # for the container
_REMOVAL_S: Final = 10.0
_SPARE_PROCESSES: Final = 2  # the shell and docker's init
_PROGRAM: Final = (
    "python -I -B -; status=$?; "
    f"test $status = 152 && exit {jail.STOPPED}; "  # the signal of a processor time used up
    "test $status = 0"
)
"""Leaves as ``jail`` does. docker itself leaves with ``jail.NOT_RUN`` if it cannot run this."""


class DockerSandbox:
    """A sandbox of containers from *image*, *at_once* of them at most; others wait for their turn.

    The image is never fetched: the operator pulls it. It must have ``sh`` and ``python``.
    """

    def __init__(
        self, limits: Limits, *, image: str, at_once: int = 2, docker: str = "docker"
    ) -> None:
        self._limits = limits
        self._image = image
        self._turns = anyio.Semaphore(at_once)
        self._docker = docker

    async def run(self, program: str) -> Ran:
        """Run the Python *program* and return what it did."""
        async with self._turns:
            try:
                return (await self._carried_out(f"lockgate-{token_hex(8)}", program)).ran
            except OSError as error:
                return Ran("unavailable", err=f"{error}.")

    async def _carried_out(self, name: str, program: str) -> Outcome:
        command = Command(
            (self._docker, "run", *self._options(name), self._image, "sh", "-c", _PROGRAM),
            program.encode(errors="replace"),
            self._limits.seconds + _START_S,
            self._limits,
        )
        left_over = True
        try:
            outcome = await carried_out(command)
            left_over = outcome.status is None or outcome.status < 0
        finally:
            if left_over:
                await self._remove(name)
        return outcome

    async def _remove(self, name: str) -> None:
        """Remove the container, which does not end with the command that started it."""
        with anyio.move_on_after(_REMOVAL_S, shield=True):
            await anyio.run_process((self._docker, "rm", "--force", name), check=False)

    def _options(self, name: str) -> tuple[str, ...]:
        limits = self._limits
        seconds = math.ceil(limits.seconds)
        return (
            *("--rm", "--interactive", "--pull", "never", "--name", name),
            *("--network", "none", "--read-only", "--workdir", "/tmp"),
            *("--tmpfs", f"/tmp:size={limits.disk},mode=1777"),
            *("--user", "65534:65534", "--cap-drop", "ALL"),
            *("--security-opt", "no-new-privileges", "--init"),
            *("--memory", str(limits.memory), "--memory-swap", str(limits.memory)),
            *("--pids-limit", str(limits.processes + _SPARE_PROCESSES), "--cpus", "1"),
            *("--ulimit", f"cpu={seconds}:{seconds + 1}", "--ulimit", f"nofile={limits.files}"),
            *("--env", "OMP_NUM_THREADS=1", "--env", "OPENBLAS_NUM_THREADS=1"),
        )
