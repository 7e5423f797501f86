"""Has a text written once more with some findings mended, and nothing else changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from techniques.core.channel import Member
from techniques.core.fanout import Asking
from techniques.core.masks import takes_temperature
from techniques.core.reply import Reply
from techniques.core.request import ToolChoice
from techniques.parts.candidates import Candidate
from techniques.parts.critique import Finding, correction
from techniques.parts.guards import Guards, Strictness
from techniques.phases.attempt import Attempt
from techniques.phases.drafting import objected
from techniques.phases.writing import Writing


@dataclass(frozen=True, slots=True)
class Correcting:
    """How to have a text corrected: how that is guarded, and at what temperature it is written.

    With None the temperature is the client's own.
    """

    strictness: Strictness
    temperature: float | None = None

    @property
    def calls(self) -> int:
        """How many calls it takes, a judge's included: unjudged it would not be the safer text."""
        return 3 if self.strictness == "full" else 1


def correcting(
    attempt: Attempt,
    author: Member,
    findings: Sequence[Finding],
    known: Sequence[Reply],
    *,
    how: Correcting,
) -> Writing:
    """Return the call for the first of *known* with *findings* mended; else it stays as it is.

    *known* is all there is to go by: the writer is to bring in no number, source or name beyond it.
    """
    request = attempt.request
    sampling = replace(request.sampling, logprobs=False, top_logprobs=None)
    warm = how.temperature is not None
    if warm and takes_temperature(author.capabilities, request.thinking):
        sampling = replace(sampling, temperature=how.temperature)
    asked = replace(
        objected(request, known[0], correction(findings)),
        sampling=sampling,
        tool_choice=ToolChoice("none") if request.tools else None,
        role="synthesis",
        step="s0",
    )
    candidates = [Candidate(place, reply) for place, reply in enumerate(known)]
    guards = Guards(candidates, request, attempt.checks, attempt.expected)
    return Writing(Asking(author, asked), known[0], guards, how.strictness)
