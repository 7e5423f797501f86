"""Decides between an answer and its parities, and corrects it where they contradict it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from techniques.core.channel import Member
from techniques.core.fanout import Asking
from techniques.core.reply import Reply, replied
from techniques.core.request import Request
from techniques.parts.agree import clusters
from techniques.parts.aside import Aside
from techniques.parts.candidates import Candidate
from techniques.parts.critique import Finding
from techniques.parts.guards import Strictness
from techniques.parts.keys import key_of
from techniques.parts.mending import patched, worth_mending
from techniques.parts.parities import (
    check_request,
    doubt_request,
    read_conflicts,
    read_result,
    syndrome_request,
)
from techniques.parts.transcript import answer_shown
from techniques.phases.attempt import Attempt
from techniques.phases.correcting import Correcting, correcting
from techniques.phases.judging import preferred
from techniques.phases.revising import with_text
from techniques.phases.writing import Writing

By: TypeAlias = Literal["draft", "vote", "check", "patch", "writing"]
"""What decided. ``draft``: nothing spoke against it. ``vote``: two agree. ``check``: who looked at
the answers agrees with one. ``patch``: conflicts were corrected in place. ``writing``: they were
to be, by writing the answer again."""

Question: TypeAlias = Callable[[Aside, Reply], Request]

_TEMPERATURE: Final = 0.2
_CHECKS: Final = (check_request, doubt_request)


@dataclass(frozen=True, slots=True)
class Decoded:
    """The answer, or the call that writes it; what decided, and how many checks that took."""

    answer: Reply | Writing
    by: By
    checks: int = 0


@dataclass(frozen=True, slots=True)
class Codeword:
    """An answer, which comes first of *words*, and others of those who had not seen it.

    All are as the client is to see them; ``author`` wrote the first.
    """

    attempt: Attempt
    author: Member
    words: Sequence[Candidate]

    @property
    def main(self) -> Reply:
        """The answer itself."""
        return self.words[0].reply

    def agreed(self, beside: Sequence[Candidate] = ()) -> Candidate | None:
        """Return the first word of the answer that at least two agree on, None if there is none.

        Who is *beside* has a vote, and is not the answer.
        """
        found = clusters([*self.words, *beside])
        return found[0].members[0] if found and len(found[0].members) > 1 else None

    async def by_result(self) -> Decoded:
        """Decide by what the words conclude; where no two agree, by a check of the answer."""
        chosen = self.agreed()
        if chosen is not None:
            return Decoded(chosen.reply, "vote")
        said = await self._asked([check_request], spare=0)
        result = replied((read_result(said[0]) if said else None) or "")
        key = key_of(result, self.attempt.expected)
        check = Candidate(self.words[-1].place + 1, result, key)
        chosen = self.agreed([check]) if key else None
        if chosen is None:
            return Decoded(self.main, "draft", len(said))
        return Decoded(chosen.reply, "check", len(said))

    async def by_syndrome(self, checks: int, strictness: Strictness) -> Decoded:
        """Correct it where the other words, or so many *checks* of it, contradict it."""
        said = await self._asked(_CHECKS[:checks], spare=1)
        parities = [*(word.reply for word in self.words[1:]), *map(replied, said)]
        conflicts = await self._conflicts(parities)
        if not conflicts:
            return self._kept(said)
        known = [self.main, *parities]
        how = Correcting(strictness, _TEMPERATURE)
        writing = correcting(self.attempt, self.author, conflicts, known, how=how)
        in_place = self._in_place(conflicts, writing)
        if in_place is not None:
            passes = strictness != "full" or await self._prefers(in_place)
            return Decoded(in_place, "patch", len(said)) if passes else self._kept(said)
        payable = not self.attempt.prefilled and self.attempt.affords(how.calls)
        return Decoded(writing, "writing", len(said)) if payable else self._kept(said)

    def _kept(self, said: Sequence[str]) -> Decoded:
        return Decoded(self.main, "draft", len(said))

    def _in_place(self, conflicts: Sequence[Finding], writing: Writing) -> Reply | None:
        """Return the answer with *conflicts* corrected and nothing else; None if that is no way."""
        text = patched(self.main.text, conflicts, self.attempt.expected.text)
        reply = None if text is None else with_text(self.main, text)
        return None if reply is None or writing.guards.whole(reply) else reply

    async def _asked(self, questions: Sequence[Question], spare: int) -> list[str]:
        """Return what a critic says of the answer to *questions*, as far as it says anything.

        As many are asked as leave *spare* calls.
        """
        attempt = self.attempt
        count = max(0, attempt.affordable(len(questions) + spare) - spare)
        critic = self._critic
        calls = [
            Asking(critic, ask(attempt.aside(critic, f"v{place}"), self.main))
            for place, ask in enumerate(questions[:count])
        ]
        outcomes = await attempt.ask(calls) if calls else []
        said = [one.text for one in outcomes if isinstance(one, Reply)]
        return [text for text in said if text.strip()]

    async def _prefers(self, corrected: Reply) -> bool:
        """Tell whether a judge who can be paid prefers it *corrected*, in both orders."""
        attempt = self.attempt
        return attempt.affords(2) and (
            await preferred(attempt, self.main, corrected, "p0") == "second"
        )

    async def _conflicts(self, parities: Sequence[Reply]) -> list[Finding]:
        """Return where *parities* contradict the answer; none where nobody can tell."""
        attempt, critic = self.attempt, self._critic
        if not parities or not attempt.affords(1):
            return []
        shown = [answer_shown(parity) for parity in parities]
        request = syndrome_request(attempt.aside(critic, "x0"), self.main, shown)
        (outcome,) = await attempt.ask([Asking(critic, request)])
        found = read_conflicts(outcome.text, shown) if isinstance(outcome, Reply) else None
        if found is None:
            attempt.warn("verification_unusable", "x0")
        return worth_mending(found or (), self.main.text, "prose")

    @property
    def _critic(self) -> Member:
        return self.attempt.critic(self.author, other=True)
