"""Whether a reply's program is right, and how good its order of growth is: by running it.

For evaluation only: the tests here must never reach a model that is being evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from techniques.core.reply import Reply
from techniques.core.task import Sandbox
from techniques.parts.growth import growth
from techniques.parts.measuring import Workload, timing, timings
from techniques.parts.programs import Suite, program_in, share, trial
from techniques.parts.syntax import is_python

UNVERIFIED: Final = 0.5
"""The score of a program that could not be run, for reports: it may be right."""

_RIGHT_SHARE: Final = 0.7  # of the score of a program whose order of growth counts too


@dataclass(frozen=True, slots=True)
class Runner:
    """Where programs run, None: nowhere; and a word that they cannot know."""

    sandbox: Sandbox | None
    token: str

    async def passed(self, reply: Reply, tests: Suite) -> bool | None:
        """Tell whether the program in *reply* passes all *tests*; None if it could not be run.

        A reply without a program passes none.
        """
        program = program_in(reply)
        if not program:
            return False
        if self.sandbox is None:
            return None
        passed = share(await self.sandbox.run(trial(program, tests, self.token)), self.token)
        return None if passed is None else passed == 1

    async def code_score(self, reply: Reply, tests: Suite | None) -> float:
        """Return 1 if the program in *reply* passes *tests*, 0 if not.

        ``UNVERIFIED`` where that cannot be told, but what there is can be read as a program.
        """
        passed = None if tests is None else await self.passed(reply, tests)
        if passed is None:
            program = program_in(reply)
            return UNVERIFIED if program and all(map(is_python, program)) else 0.0
        return float(passed)

    async def complexity_score(
        self, reply: Reply, tests: Suite | None, workload: Workload
    ) -> float:
        """Return the score of a right program by how its time grows over *workload*.

        A wrong one has 0; one that cannot be timed, what being right is worth.
        """
        right = await self.code_score(reply, tests)
        if self.sandbox is None or right < 1:
            return _RIGHT_SHARE * right
        ran = await self.sandbox.run(timing(program_in(reply), workload, self.token))
        found = growth(timings(ran, self.token))
        return _RIGHT_SHARE + (1 - _RIGHT_SHARE) * found.credit if found else _RIGHT_SHARE
