"""What can be told of an answer without asking anyone: does its code parse, does it pass tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from techniques.core.json import Json
from techniques.core.reply import Reply
from techniques.parts.candidates import Candidate
from techniques.parts.critique import Finding
from techniques.parts.programs import (
    Suite,
    failures,
    program_in,
    share,
    suite_in,
    trial,
    trial_token,
)
from techniques.parts.syntax import parses
from techniques.phases.attempt import Attempt

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


def sound(attempt: Attempt, reply: Reply) -> bool:
    """Tell whether the code in *reply* is a program; True where none is asked for, or given."""
    return attempt.expected.text != "code" or parses(reply)


async def tried(attempt: Attempt, reply: Reply) -> Trial:
    """Return how *reply* does, its code run against the tests of the request if that can be."""
    if attempt.expected.text != "code":
        return Trial()
    whole = parses(reply)
    tests = suite_in(attempt.request)
    if tests is None or attempt.task.sandbox is None:
        return Trial(whole)
    program = program_in(reply)
    if not program:
        return Trial(whole, passed=False, failure=_NO_CODE)
    token = trial_token(attempt.task.fence, program)
    (ran,) = await attempt.run([trial(program, tests, token)])
    passed = None if ran is None else share(ran, token)
    if ran is None or passed is None:
        return Trial(whole)
    return Trial(whole, passed == 1, failures(ran, token)[-_SHOWN:])


@dataclass(slots=True)
class Trials:
    """The trials of the answers of one attempt.

    Attributes:
        attempt: Whose answers they are.
        tests: What answers are run against, None where that cannot be done (any more).
        shares: Which share of the tests the answer at a place passed, 0 to 1.
    """

    attempt: Attempt
    tests: Suite | None
    shares: dict[int, float] = field(default_factory=dict)

    @property
    def passed(self) -> int:
        """How many answers passed all tests."""
        return sum(share == 1 for share in self.shares.values())

    def result(self) -> dict[str, Json]:
        """Return what there is to report, nothing where no tests were tried."""
        if self.tests is None:
            return {}
        return {"passed": self.passed, "shares": list(self.shares.values())}

    def best(self, candidates: Sequence[Candidate]) -> Candidate:
        """Return the first of *candidates* that passes most, with a warning if none passes all.

        One that declines is not a way to pass.
        """
        if not self.passed:
            many = f"None of {len(candidates)} answers passed all tests."
            self.attempt.warn("tests_failed", many)
        return min(candidates, key=lambda one: (one.refusal, -self.share(one), one.place))

    def share(self, candidate: Candidate) -> float:
        """Return which share of the tests *candidate* passed, 0 if that is not known."""
        return self.shares.get(candidate.place, 0.0)

    async def run(self, candidates: Sequence[Candidate]) -> None:
        """Run the programs in *candidates*; one that has none passes no test.

        Where none of them has one, or nothing can be run, tests count no more.
        """
        programs = [program_in(candidate.reply) for candidate in candidates]
        if self.tests is None or not candidates:
            return
        if not any(programs):
            self._give_up("The answers have no Python program.")
            return
        tokens = [trial_token(self.attempt.task.fence, program) for program in programs]
        trials = zip(programs, tokens, strict=True)
        runs = await self.attempt.run([trial(one, self.tests, token) for one, token in trials])
        for candidate, ran, token in zip(candidates, runs, tokens, strict=True):
            if ran is None:  # the deadline came first
                continue
            passed = share(ran, token)
            if passed is None:
                self._give_up("The sandbox could not run them.")
                return
            self.shares[candidate.place] = passed

    def _give_up(self, why: str) -> None:
        self.tests = None
        self.shares.clear()
        self.attempt.warn("tests_unused", why)


def suite_for(attempt: Attempt, given: str | None, *, needed: bool) -> Suite | None:
    """Return what answers can be run against: the tests *given*, else those in the request.

    None, with a warning if tests were *given* or are *needed*, where there are none or they cannot
    be run: no sandbox, or an answer that is no text of the model's own form. Without a need for
    tests only those beside a question for code count as such.
    """
    expected = attempt.expected
    looked_for = needed or expected.text == "code"
    found = suite_in(attempt.request) if looked_for else None
    tests = Suite(given) if given is not None else found
    lacking = {
        "The request has no tests, and none were given.": tests is None,
        "The answer may be a tool call or JSON.": expected.kind in {"tool", "json"},
        "There is no sandbox to run them in.": attempt.task.sandbox is None,
    }
    lacks = next((why for why, lacks in lacking.items() if lacks), None)
    if lacks is None:
        return tests
    if needed or given is not None:
        attempt.warn("tests_unused", lacks)
    return None


_FAILED: Final = "Run with the tests that the request gives, the code fails:"
_NO_PROGRAM: Final = "Not all that it calls Python is Python: it does not parse."
_NO_CODE: Final = "There is no Python in the answer."
