"""Sandboxes for tests: one that really runs a program, here and now, and one that does as told."""

from __future__ import annotations

import contextlib
import io
import sys
from dataclasses import dataclass, field
from typing import Final

import anyio

from techniques.core.task import Ran

UNAVAILABLE: Final = Ran("unavailable")


@dataclass
class Here:
    """Runs programs in this very process: only for those that a test itself has written."""

    programs: list[str] = field(default_factory=list)

    async def run(self, program: str) -> Ran:
        self.programs.append(program)
        await anyio.lowlevel.checkpoint()
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                exec(compile(program, "program.py", "exec"), {"__name__": "__main__"})
        except (SyntaxError, ValueError, SystemExit) as error:
            return Ran("failed", out.getvalue(), repr(error))
        finally:
            sys.modules.pop("solution", None)
        return Ran("ok", out.getvalue())


@dataclass
class Slow:
    """Takes *seconds* for each program, and then says that it ended as *ran* says."""

    seconds: float = 0.0
    ran: Ran = UNAVAILABLE
    running: int = 0

    async def run(self, program: str) -> Ran:
        self.running += 1
        try:
            await anyio.sleep(self.seconds)
        finally:
            self.running -= 1
        return self.ran
