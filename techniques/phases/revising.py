"""Makes a better text of findings: by replacement where that can be done, else by the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from techniques.core.channel import Member
from techniques.core.fanout import Asking
from techniques.core.reply import Reply
from techniques.core.request import Text
from techniques.parts.candidates import Candidate, Draw, Erasure
from techniques.parts.critique import Finding, correction
from techniques.parts.mending import patched
from techniques.parts.syntax import parses
from techniques.phases.attempt import Attempt
from techniques.phases.drafting import objected


@dataclass(frozen=True, slots=True)
class Revision:
    """A text that could take the place of what stands, and how it came about."""

    reply: Reply
    via: Literal["patch", "rewrite"]


@dataclass(frozen=True, slots=True)
class Reviser:
    """Mends what *author* wrote; with *patch* without a call where that can be done."""

    attempt: Attempt
    author: Member
    patch: bool = True

    async def revision(
        self, standing: Reply, findings: Sequence[Finding], place: int, calls: int
    ) -> Revision | None:
        """Return *standing* with *findings* mended in round *place*; None if nothing came of it.

        What breaks the form is asked for once more, if *calls* after that can still be made.
        """
        found = self._replaced(standing, findings) if self.patch else None
        if found is not None:
            return Revision(found, "patch")
        if self.attempt.prefilled:
            return None
        draw = await self._rewritten(standing, findings, f"r{place}")
        defects = self._defects(draw)
        if defects and self.attempt.affordable(1 + calls) == 1 + calls:
            draw = await self._rewritten(standing, findings, f"rr{place}", defects)
        if not isinstance(draw, Candidate) or draw.refusal or draw.reply.tool_calls:
            return None
        return Revision(draw.reply, "rewrite")

    def _replaced(self, standing: Reply, findings: Sequence[Finding]) -> Reply | None:
        kind = self.attempt.expected.text
        text = patched(standing.text, findings, kind)
        if text is None:
            return None
        reply = with_text(standing, text)
        worse = kind == "code" and parses(standing) and not parses(reply)
        return None if worse or self.attempt.checks.defects(reply) else reply

    async def _rewritten(
        self, standing: Reply, findings: Sequence[Finding], step: str, defects: Sequence[str] = ()
    ) -> Draw:
        objection = correction(findings, self.attempt.expected.text, defects)
        request = objected(self.attempt.request, standing, objection)
        request = replace(request, stream=False, role="refine", step=step)
        (outcome,) = await self.attempt.ask([Asking(self.author, request)])
        return self.attempt.sift(0, outcome)

    def _defects(self, draw: Draw) -> Sequence[str]:
        lost = draw.reply if isinstance(draw, Erasure) and draw.lost == "invalid" else None
        return self.attempt.checks.defects(lost) if lost else ()


def with_text(reply: Reply, text: str) -> Reply:
    """Return *reply* with *text* in place of all its text, of which no more is known."""
    kept = tuple(part for part in reply.parts if not isinstance(part, Text))
    return replace(reply, parts=(*kept, Text(text)), logprobs=None, citations=())
