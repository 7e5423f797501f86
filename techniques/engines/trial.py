"""What can be told of an answer without asking anyone: does its code parse, does it pass tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from techniques.core.reply import Reply
from techniques.engines.attempt import Attempt
from techniques.parts.critique import Finding
from techniques.parts.programs import failures, program_in, share, suite_in, trial
from techniques.parts.syntax import parses

_SHOWN: Final = 800  # characters of what a failing program wrote last


@dataclass(frozen=True, slots=True)
class Trial:
    """How an answer did.

    Attributes:
        parses: Its code, if it has any, is a program.
        passed: It passed the tests that the question gives; None where there are none, or they
            could not be run.
        failure: What was seen of it when it did not pass.
    """

    parses: bool = True
    passed: bool | None = None
    failure: str = ""

    @property
    def rank(self) -> tuple[bool, bool]:
        """What comes before any opinion when two answers are compared."""
        return self.parses, self.passed is True

    @property
    def failed(self) -> bool:
        """Whether it is wrong for certain, whatever anyone thinks of it."""
        return self.passed is False or not self.parses

    def findings(self) -> list[Finding]:
        """Return what is to be mended for certain."""
        if not self.failed:
            return []
        fix = f"{_FAILED}\n{self.failure}" if self.passed is False else _NO_PROGRAM
        return [Finding("", "wrong", fix, "critical")]


async def tried(attempt: Attempt, reply: Reply) -> Trial:
    """Return how *reply* does, its code run against the tests of the request if that can be."""
    if attempt.expected.text != "code":
        return Trial()
    whole, token = parses(reply), attempt.task.fence
    tests, sandbox = suite_in(attempt.request), attempt.task.sandbox
    if tests is None or sandbox is None:
        return Trial(whole)
    program = program_in(reply)
    if not program:
        return Trial(whole, passed=False, failure=_NO_CODE)
    ran = await sandbox.run(trial(program, tests, token))
    passed = share(ran, token)
    if passed is None:
        return Trial(whole)
    return Trial(whole, passed == 1, failures(ran, token)[-_SHOWN:])


_FAILED: Final = "Run with the tests that the request gives, the code fails:"
_NO_PROGRAM: Final = "Not all that it calls Python is Python: it does not parse."
_NO_CODE: Final = "There is no Python in the answer."
