"""What can be told of an answer without asking anyone: does its code parse, does it pass tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from techniques.core.reply import Reply
from techniques.engines.attempt import Attempt
from techniques.parts.answers import last_ask
from techniques.parts.critique import Finding
from techniques.parts.programs import assertions, parses, program

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
    """Return how *reply* does, its code run against the tests of the question if that can be."""
    if attempt.expected.text != "code":
        return Trial()
    whole = parses(reply)
    tests = assertions(last_ask(attempt.request))
    sandbox = attempt.task.sandbox
    if not tests or sandbox is None:
        return Trial(whole)
    code = program(reply, tests)
    if code is None:
        return Trial(whole, passed=False, failure=_NO_CODE)
    ran = await sandbox.run(code)
    if ran.ended == "unavailable":
        return Trial(whole)
    wrote = _ENDLESS if ran.ended == "timeout" else (ran.err or ran.out)
    return Trial(whole, ran.ended == "ok", wrote.strip()[-_SHOWN:])


_FAILED: Final = "Run with the tests that the request gives, the code fails:"
_NO_PROGRAM: Final = "Not all that it calls Python is Python: it does not parse."
_NO_CODE: Final = "There is no Python in the answer."
_ENDLESS: Final = "It did not end in time."
