"""The pilot: a real first answer, from which it is told how hard the question is.

It is asked as the client asks, so that whatever is done next can take it for its own first answer.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from techniques.core.errors import DeadlinePassed, GatewayError, StreamBroken
from techniques.core.events import Event, Note, TextDelta
from techniques.core.fanout import Asking, Outcome
from techniques.core.json import Json
from techniques.core.reply import Fold, Reply, replied
from techniques.core.request import Request
from techniques.parts.candidates import Candidate, Erasure
from techniques.parts.category import Category
from techniques.parts.confidence import telling, tokens_of
from techniques.parts.difficulty import AGREED, DISAGREED, rating_request, read_rating
from techniques.parts.keys import TEXT, keyed
from techniques.phases.attempt import Attempt
from techniques.phases.sureness import ranked_sureness

Told: TypeAlias = Literal["probabilities", "agreement", "rating", "nothing"]
"""What told how hard a question is."""

_TEMPERATURE: Final = 0.7


@dataclass(frozen=True, slots=True)
class Reading:
    """What is known of a question when it is decided what is done for it.

    ``difficulty`` is 0 to 1, None if nothing told it.
    """

    request: Request
    category: Category
    difficulty: float | None = None
    by: Told = "nothing"


@dataclass(slots=True)
class Pilot:
    """The first answer of *attempt*.

    Attributes:
        attempt: Whose it is.
        asked: What is known before anything was asked.
        tokens: After how many tokens it is looked at for the first time, 0 for never.
        good: Returns, for what was read by then, the note on passing the answer on as it comes;
            None if that is not to be.
        reply: The answer; None if there was none.
        passed_on: It was passed on, and nothing is left to do.
    """

    attempt: Attempt
    asked: Reading
    tokens: int
    good: Callable[[Reading], Note | None]
    reply: Reply | None = None
    passed_on: bool = False
    _probabilities: list[Json] = field(default_factory=list)
    _second: Outcome | None = None

    async def events(self) -> AsyncGenerator[Event, None]:
        """Ask, and yield the answer if it turns out good enough while it is still being given.

        Raises:
            GatewayError: It broke off when some of it was passed on, or the deadline has come.
        """
        if not self.attempt.channels.primary.capabilities.logprobs:
            await self._without_probabilities()
            return
        fold, kept = Fold(), list[Event]()
        async with self.attempt.hearing(self._asking()) as heard:
            async for event in heard:
                if isinstance(event, GatewayError):
                    self._failed(event)
                    return
                fold.feed(event)
                kept.append(self._shown(event))
                if note := self._note():
                    self.passed_on = True
                    kept = [note, *self.attempt.warnings(), *kept]
                if self.passed_on:
                    for shown in kept:
                        yield shown
                    kept.clear()
        self._ended(fold)

    async def reading(self) -> Reading:
        """Return what the answer tells, asking once more if it does not tell by itself."""
        if self.reply is None:
            return self.asked
        draw = self.attempt.sift(0, self.reply)
        if isinstance(draw, Erasure):
            return self.asked
        reading = self._by_probabilities(self.reply)
        if reading is not None:
            return reading
        if draw.key is not None and not draw.key.startswith(TEXT):
            return await self._by_agreement(draw.key)
        return await self._by_rating(self.reply)

    def _asking(self) -> Asking:
        member = self.attempt.channels.primary
        request = replace(self.attempt.request, role="candidate", step="pilot0")
        return Asking(member, telling(request, member))

    def _again(self) -> Asking:
        member = self.attempt.channels.primary
        spread = self.attempt.spread(_TEMPERATURE)
        return Asking(member, replace(spread.draw(self.attempt.request, member, 1), step="pilot1"))

    async def _without_probabilities(self) -> None:
        """Ask, and where answers can be compared ask twice at once."""
        calls = [self._asking(), self._again()]
        expected = self.attempt.expected
        comparable = expected.kind in {"tool", "json"} or keyed(expected.text)
        both = comparable and self.attempt.affordable(2) == 2
        first, *others = await self.attempt.ask(calls if both else calls[:1])
        self._second = others[0] if others else None
        if isinstance(first, Reply):
            self._keep(first)
        else:
            self._failed(first)

    def _ended(self, fold: Fold) -> None:
        try:
            self._keep(fold.reply())
        except StreamBroken as error:
            self._failed(error)

    def _keep(self, reply: Reply) -> None:
        """Keep *reply*, unless it says nothing: it is then as good as not given."""
        self.reply = None if self.attempt.checks.lost(reply) == "empty" else reply

    def _failed(self, error: GatewayError) -> None:
        self.attempt.note_time(error)
        if self.passed_on or isinstance(error, DeadlinePassed):
            raise error

    def _shown(self, event: Event) -> Event:
        """Return *event* as the client wants it, its probabilities remembered."""
        if not isinstance(event, TextDelta):
            return event
        told = event.logprobs.get("content") if isinstance(event.logprobs, dict) else None
        self._probabilities += told if isinstance(told, list) else ()
        return event if self.attempt.request.sampling.logprobs else replace(event, logprobs=None)

    def _note(self) -> Note | None:
        """Return the note on passing the answer on, if just so much is there that it is good."""
        request = self.attempt.request
        if not self.tokens or request.tools or request.response_format is not None:
            return None  # whether such an answer keeps to the form is known only at its end
        if len(self._probabilities) < self.tokens:
            return None
        told: Json = {"content": self._probabilities[: self.tokens]}  # more may have come at once
        self.tokens = 0
        so_far = replied("".join(token for token, _ in tokens_of(told)))
        reading = self._by_probabilities(replace(so_far, logprobs=told))
        return None if reading is None else self.good(reading)

    def _by_probabilities(self, reply: Reply) -> Reading | None:
        sure = ranked_sureness(self.attempt, self.attempt.channels.primary, reply)
        if sure is None:
            return None
        return replace(self.asked, difficulty=1 - sure, by="probabilities")

    async def _by_agreement(self, key: str) -> Reading:
        if self._second is None and self.attempt.affordable(1):
            (self._second,) = await self.attempt.ask([self._again()])
        second = self._second and self.attempt.sift(1, self._second)
        if not isinstance(second, Candidate):
            return self.asked
        difficulty = AGREED if second.key == key else DISAGREED
        return replace(self.asked, difficulty=difficulty, by="agreement")

    async def _by_rating(self, reply: Reply) -> Reading:
        if not self.attempt.affordable(1):
            return self.asked
        member = self.attempt.channels.primary
        request = rating_request(self.attempt.aside(member, "rating"), reply)
        (outcome,) = await self.attempt.ask([Asking(member, request)])
        rated = read_rating(outcome.text) if isinstance(outcome, Reply) else None
        if rated is None:
            return self.asked
        return replace(self.asked, difficulty=rated, by="rating")
