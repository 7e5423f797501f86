"""The one grader of an evaluation: it knows the right answers, and marks all alike, unnamed."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import anyio

from router_service.evaluation.hashing import hash_of
from router_service.evaluation.prompts import Prompt
from router_service.evaluation.records import AnswerRow, GradeRow
from techniques.core.channel import Member, ask
from techniques.core.errors import GatewayError
from techniques.core.json import Json, JsonObject
from techniques.core.reply import Reply, replied
from techniques.core.request import Request
from techniques.parts.answers import expect
from techniques.parts.aside import Aside
from techniques.parts.checks import Checks, says_anything
from techniques.parts.code_scoring import UNVERIFIED, Runner
from techniques.parts.judge import preference_request as preferred_request
from techniques.parts.judge import read_preference, read_score, verdict_request
from techniques.parts.matching import matches
from techniques.parts.measuring import Workload
from techniques.parts.programs import Suite, suite_in
from techniques.parts.reference import (
    Reference,
    compared_request,
    facts_request,
    read_compared,
    read_facts,
)
from techniques.parts.refusals import refuses
from techniques.parts.scoring import Scoring, Strategy, scoring_of
from techniques.parts.transcript import Fence

_VERSION: Final = 1
_TRIES: Final = 2
_TERSE: Final = 80
"""Characters: a shorter reference is one fact, and need not be taken apart."""

_LONGEST: Final = 500

Decode = Callable[[Prompt], Request]


class Judged(NamedTuple):
    """What a judge made of an answer; None: no score, ``error`` says why if its call failed."""

    score: float | None
    error: str = ""


class _Said(NamedTuple):
    """What a judge said; None: nothing, and ``error`` says why."""

    text: str | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Rules:
    """How a prompt's answers are marked."""

    scoring: Scoring
    tests: Suite | None = None
    workload: Workload | None = None

    @property
    def name(self) -> str:
        """What it is called in a report."""
        return self.scoring.mode if self.scoring.compares and self.scoring.mode else "judge"


def rules_of(prompt: Prompt, request: Request, strategy: Strategy) -> Rules:
    """Return how answers to *prompt* are marked.

    Raises:
        ValueError: Its reference, or what else it says of that, cannot be used.
    """
    stated: JsonObject = {name: prompt.metadata.get(name) for name in ("score_mode", "source")}
    if prompt.score_mode is not None:
        stated["score_mode"] = prompt.score_mode
    if stated["score_mode"] == "judge":
        return Rules(Scoring(None, strategy))
    scoring = scoring_of(stated, strategy=strategy)
    mode = scoring.mode
    if mode == "code" or mode == "code_complexity":
        return Rules(scoring, _tests(prompt) or suite_in(request), _workload(prompt, scoring))
    if prompt.reference is None:
        return Rules(Scoring(None, strategy))
    if mode is not None:
        matches(mode, replied(""), prompt.reference, expect(request))
    return Rules(scoring)


def _tests(prompt: Prompt) -> Suite | None:
    """Return the tests in the metadata, as HumanEval and MBPP have them, or in the reference."""
    given = prompt.metadata
    stated: Json = given.get("tests") or given.get("test_list") or given.get("test")
    text = "\n".join(map(str, stated)) if isinstance(stated, list) else str(stated or "")
    if not text and prompt.reference and "assert" in prompt.reference:
        text = prompt.reference
    if "def check(" in text and isinstance(entry := given.get("entry_point"), str):
        text += f"\ncheck({entry})\n"
    return Suite(text) if text.strip() else None


def _workload(prompt: Prompt, scoring: Scoring) -> Workload | None:
    if scoring.mode != "code_complexity":
        return None
    stated: Json = prompt.metadata.get("workload")
    try:
        return Workload(**(stated or {}))
    except TypeError as error:
        raise ValueError("metadata.workload: it must have function and arguments") from error


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt as a request, and how its answers are marked."""

    prompt: Prompt
    request: Request
    rules: Rules


@dataclass
class Grader:
    """Marks answers; ``judge`` None: by comparing alone.

    ``shown`` is what people call the judge, ``judge_hash`` what it is known by.

    ``strategy`` and the judge are the same for all configurations, and what is shown to the judge
    tells none of them.
    """

    strategy: Strategy
    runner: Runner
    judge: Member | None = None
    shown: str = ""
    judge_hash: str = ""
    _facts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _locks: dict[str, anyio.Lock] = field(default_factory=dict)

    def hash(self, question: Question) -> str:
        """Return what its marks of answers to *question* are known by."""
        prompt, rules = question.prompt, question.rules
        known = [rules.name, self.strategy, prompt.reference, prompt.metadata]
        judge = self.judge_hash if rules.scoring.judges else ""
        return hash_of([_VERSION, *known, judge, self.runner.sandbox is not None])

    async def grade(self, question: Question, answer: AnswerRow) -> GradeRow:
        """Return what *answer* is worth; a failure is worth nothing."""
        row = GradeRow(
            config_hash=answer.config_hash,
            prompt_hash=answer.prompt_hash,
            repeat=answer.repeat,
            grader_hash=self.hash(question),
            mode=question.rules.name,
        )
        reply = answer.reply()
        if answer.error or not says_anything(reply):
            note = "failed" if answer.error else "empty"
            return row.model_copy(update={"quality": 0.0, "note": note})
        marks = await self._marks(question, reply)
        return row.model_copy(update={**marks, **_form(question.request, reply)})

    async def _marks(self, question: Question, reply: Reply) -> Mapping[str, Json]:
        scoring = question.rules.scoring
        exact = await self._exact(question, reply) if scoring.compares else None
        by = await self.judged(question, reply) if scoring.judges else Judged(None)
        judged = by.score
        unverified = question.rules.name.startswith("code") and exact == UNVERIFIED
        return {
            "exact": exact,
            "judged": judged,
            "quality": scoring.total(exact, judged),
            "unparsable": scoring.judges and judged is None,
            "judge_error": by.error,
            "note": "not run" if unverified else "",
        }

    async def _exact(self, question: Question, reply: Reply) -> float:
        rules, mode = question.rules, question.rules.scoring.mode
        if mode == "code":
            return await self.runner.code_score(reply, rules.tests)
        if mode == "code_complexity":
            assert rules.workload is not None
            return await self.runner.complexity_score(reply, rules.tests, rules.workload)
        assert mode is not None
        assert question.prompt.reference is not None
        return float(matches(mode, reply, question.prompt.reference, expect(question.request)))

    async def judged(self, question: Question, reply: Reply) -> Judged:
        """Return the judge's score of *reply*, none if it gives none in two tries."""
        aside = self._aside(question)
        if aside is None:
            return Judged(None)
        reference = question.prompt.reference
        request, read = verdict_request(aside, reply), read_score
        if reference is not None:
            known = Reference(reference, await self._distilled(question, aside))
            request, read = compared_request(aside, reply, known), read_compared
        said = _Said(None)
        for _ in range(_TRIES):
            said = await self._said(aside.member, request)
            if said.text is not None and (score := read(said.text)) is not None:
                return Judged(score)
        return Judged(None, said.error)

    async def prefers(self, question: Question, first: Reply, second: Reply) -> str | None:
        """Return which of two answers the judge prefers, None if it does not say."""
        aside = self._aside(question)
        if aside is None:
            return None
        said = await self._said(aside.member, preferred_request(aside, first, second))
        return None if said.text is None else read_preference(said.text)

    def _aside(self, question: Question) -> Aside | None:
        if self.judge is None:
            return None
        return Aside(question.request, self.judge, Fence(secrets.token_hex(8)), "j0")

    async def _distilled(self, question: Question, aside: Aside) -> tuple[str, ...]:
        """Return the facts of the reference: asked for once, whoever answers."""
        reference = question.prompt.reference or ""
        if len(reference) <= _TERSE:
            return ()
        name = question.prompt.hash
        async with self._locks.setdefault(name, anyio.Lock()):
            if name not in self._facts:
                said = await self._said(aside.member, facts_request(aside, reference))
                if said.text is None:
                    return ()
                self._facts[name] = read_facts(said.text)
        return self._facts[name]

    async def _said(self, judge: Member, request: Request) -> _Said:
        try:
            return _Said((await ask(judge, request)).text)
        except GatewayError as error:
            return _Said(None, error.message[:_LONGEST] or error.code)


def _form(request: Request, reply: Reply) -> Mapping[str, Json]:
    """Return whether *reply* refuses, and whether it keeps to the form that was asked for."""
    refused = refuses(reply)
    if refused or not (request.response_format or request.tools):
        return {"refused": refused}
    return {"refused": False, "schema_valid": not Checks(request).defects(reply)}
