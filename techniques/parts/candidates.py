"""What became of the sub-calls: usable candidates, and erasures with their class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from pricing.record import record
from techniques.core.errors import (
    DeadlinePassed,
    GatewayError,
    TechniqueFailed,
    UpstreamFailed,
)
from techniques.core.fanout import Outcome
from techniques.core.json import Json
from techniques.core.reply import Reply
from techniques.parts.answers import Expected
from techniques.parts.checks import Checks, Lost
from techniques.parts.keys import key_of
from techniques.parts.refusals import refuses


@record(frozen=True, slots=True)
class Candidate:
    """A reply that can be the answer.

    Attributes:
        place: Which draw it is; 0 is drawn with the client's own settings.
        reply: The reply, word for word.
        key: What it answers, None if that cannot be told.
        refusal: It declines the request.
        score: A judge's score, 0 to 1; None ranks below any number.
        sureness: The model's own confidence in it, 0 to 1; None if it is not known.
        trust: What a vote of the model that gave it counts, above 0 and at most 1.
        weight: What its vote weighs, above 0 and at most 1: trust, and what is known of itself.
    """

    place: int
    reply: Reply
    key: str | None = None
    refusal: bool = False
    score: float | None = None
    sureness: float | None = None
    trust: float = 1.0
    weight: float = 1.0


@record(frozen=True, slots=True)
class Erasure:
    """A draw that was lost. ``reply`` is what came of it, if anything did."""

    place: int
    lost: Lost
    error: GatewayError | None = None
    reply: Reply | None = None


Draw: TypeAlias = Candidate | Erasure


def sift(place: int, outcome: Outcome, checks: Checks, expected: Expected) -> Draw:
    """Return the draw at *place* as a candidate, or as the erasure it is."""
    if isinstance(outcome, GatewayError):
        lost: Lost = "deadline" if isinstance(outcome, DeadlinePassed) else "failed"
        return Erasure(place, lost, outcome)
    why = checks.lost(outcome)
    if why is not None:
        return Erasure(place, why, None, outcome)
    if refuses(outcome):
        return Candidate(place, outcome, None, refusal=True)
    return Candidate(place, outcome, key_of(outcome, expected))


def usable(draws: Sequence[Draw], *, strict: bool) -> list[Candidate]:
    """Return the candidates among *draws*, by place.

    Where there are none, replies that were cut off; and where the caller did not insist on the
    form (*strict*), replies that break it. A poor answer is better than none.
    """
    found = [draw for draw in draws if isinstance(draw, Candidate)]
    for lost in ("truncated",) if strict else ("truncated", "invalid"):
        found = found or [
            Candidate(draw.place, draw.reply)
            for draw in draws
            if isinstance(draw, Erasure) and draw.lost == lost and draw.reply is not None
        ]
    return sorted(found, key=lambda candidate: candidate.place)


def declined(draws: Sequence[Draw]) -> Reply | None:
    """Return the refusal to commit, None where the draws did not decline.

    Sampling until one draw complies would undo a model's caution: from a third on, refused or
    filtered draws speak for all. Source: Hughes et al. 2024, arXiv:2412.03556.
    """
    refusals = {
        draw.place: draw.reply for draw in draws if isinstance(draw, Candidate) and draw.refusal
    }
    filtered = {
        draw.place: draw.reply
        for draw in draws
        if isinstance(draw, Erasure) and draw.lost == "filtered"
    }
    others = sum(isinstance(draw, Candidate) and not draw.refusal for draw in draws)
    against = len(refusals) + len(filtered)
    if not against or 3 * against < against + others:
        return None
    speaking = refusals or filtered
    return speaking[min(speaking)]


def tally(draws: Sequence[Draw]) -> dict[str, Json]:
    """Return how many draws were used, and how many were lost by class."""
    lost = Counter(draw.lost for draw in draws if isinstance(draw, Erasure))
    used = len(draws) - lost.total()
    return {
        "draws": len(draws),
        "used": used,
        "failed": lost.total(),
        "lost": dict(sorted(lost.items())),
    }


def failure(draws: Sequence[Draw]) -> GatewayError:
    """Return the error that tells most about why *draws* have no usable one."""
    lost = sorted((draw for draw in draws if isinstance(draw, Erasure)), key=_silence)
    if lost and lost[0].error is not None:
        return lost[0].error
    kinds = ", ".join(f"{count} {kind}" for kind, count in tally(draws)["lost"].items())
    return TechniqueFailed(
        f"None of the {len(draws)} answers was usable ({kinds}).", code="no_usable_answer"
    )


def _silence(erasure: Erasure) -> tuple[int, int]:
    """Rank by how little an erasure tells a client, then by place."""
    match erasure.error:
        case UpstreamFailed():
            rank = 0
        case DeadlinePassed():
            rank = 3
        case None:
            rank = 2
        case _:
            rank = 1
    return rank, erasure.place
