"""Draws answers in waves: what voting and selecting have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from techniques.core.channel import Member
from techniques.core.errors import UpstreamFailed
from techniques.core.fanout import Asking, Outcome
from techniques.core.reply import Reply
from techniques.core.request import Request
from techniques.parts.agree import lead
from techniques.parts.candidates import Candidate, Draw, Erasure
from techniques.parts.keys import TEXT, keyed
from techniques.parts.sampling import Spread
from techniques.parts.stopping import Lead
from techniques.phases.attempt import Attempt


@dataclass(slots=True)
class Drawing:
    """The draws of one attempt.

    Attributes:
        attempt: Whose draws they are.
        request: What is asked each time.
        spread: What differs between the draws.
        most: The most draws that may be made.
        drawer: Tells who draws at a place.
        trust: Tells the most that the draw at a place can weigh in a vote; None: 1 each.
        patience: How many draws in a row may be lost before no more are made; None for any.
        fit: Makes the request of a draw ready for the model that is asked.
        read: Makes a reply, and the place of its draw, ready for being looked at.
        asked: How many draws were begun; those cut off as not needed any more are among them.
        draws: Those that ended, as they ended.
    """

    attempt: Attempt
    request: Request
    spread: Spread
    most: int
    drawer: Callable[[int], Member]
    trust: Callable[[int], float] | None = None
    patience: int | None = None
    fit: Callable[[Request, Member], Request] = lambda request, _member: request
    read: Callable[[int, Reply], Reply] = lambda _place, reply: reply
    asked: int = 0
    draws: list[Draw] = field(default_factory=list)

    @property
    def candidates(self) -> list[Candidate]:
        """The usable draws, by place."""
        found = [draw for draw in self.draws if isinstance(draw, Candidate)]
        return sorted(found, key=lambda candidate: candidate.place)

    @property
    def left(self) -> int:
        """How many draws may still be begun."""
        return 0 if self._hopeless() or self._unlucky() else self.most - self.asked

    def lead(self, known: Sequence[Candidate]) -> Lead:
        """Return how a vote among the *known* candidates stands.

        Draws that are still running, or of which too little is known, count as still to come.
        """
        return self._lead(known, self.pending(known))

    def outlook(self, known: Sequence[Candidate]) -> Lead:
        """Return how it stands with only those draws to come that were not begun yet."""
        return self._lead(known, range(self.asked, self.asked + self.left))

    def pending(self, known: Sequence[Candidate]) -> list[int]:
        """Return the places of the draws that may yet change a vote among the *known* ones."""
        settled = {draw.place for draw in self.draws if isinstance(draw, Erasure)}
        settled.update(one.place for one in known)
        return [place for place in range(self.most) if place not in settled]

    def _lead(self, known: Sequence[Candidate], coming: Sequence[int]) -> Lead:
        expected = self.attempt.expected
        levels = expected.kind == "tool" or not keyed(expected.text) or self._worded()
        weights = tuple(map(self.trust, coming)) if self.trust else None
        return lead(known, len(coming), levels=levels, coming=weights)

    def _worded(self) -> bool:
        """Tell whether any answer is only alike to its own words."""
        found = (draw.key for draw in self.draws if isinstance(draw, Candidate))
        return any(key is not None and key.startswith(TEXT) for key in found)

    async def wave(self, count: int, decided: Callable[[], bool]) -> Sequence[Draw]:
        """Make *count* more draws at once and return how they ended.

        After each end *decided* is asked; once it holds, the draws still running are cut off.
        """
        before = len(self.draws)
        calls = [self._call(place) for place in range(self.asked, self.asked + count)]
        first, self.asked = self.asked, self.asked + count
        async with self.attempt.asking(calls) as answers:
            async for answered in answers:
                self.draws.append(self._draw(first + answered.place, answered.outcome))
                if decided():
                    break
        return self.draws[before:]

    def _call(self, place: int) -> Asking:
        member = self.drawer(place)
        return Asking(member, self.spread.draw(self.fit(self.request, member), member, place))

    def _draw(self, place: int, outcome: Outcome) -> Draw:
        read = self.read(place, outcome) if isinstance(outcome, Reply) else outcome
        return self.attempt.sift(place, read)

    def _hopeless(self) -> bool:
        """Whether all draws so far, and not just one, failed in a way that does not pass."""
        return len(self.draws) > 1 and all(
            isinstance(draw, Erasure)
            and isinstance(draw.error, UpstreamFailed)
            and not draw.error.retryable
            for draw in self.draws
        )

    def _unlucky(self) -> bool:
        """Whether the last draws, by place, were all lost, and there were enough of them."""
        if self.patience is None or len(self.draws) < self.patience:
            return False
        last = sorted(self.draws, key=lambda draw: draw.place)[-self.patience :]
        return all(isinstance(draw, Erasure) for draw in last)
