"""A cascade: ask a cheap model, and a stronger one only where its answer cannot be trusted."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias, get_args

from techniques.core.channel import Member
from techniques.core.errors import GatewayError
from techniques.core.events import Event, Finished, Note, Piece, ToolCallDelta, ToolCallStarted
from techniques.core.fanout import Asking, Outcome
from techniques.core.reply import Reply
from techniques.parts.agree import clusters, representative
from techniques.parts.candidates import Candidate, Draw, Erasure, declined, failure, usable
from techniques.parts.confidence import check_request, read_check, telling
from techniques.parts.effort import raised
from techniques.phases.attempt import Attempt, progress
from techniques.phases.single import collapsed
from techniques.phases.sureness import is_calibrated, ranked_sureness

Agree: TypeAlias = Literal["off", "self", "pool"]
Check: TypeAlias = Literal["auto", "p_true", "probabilities"]

_PIECES: Final = get_args(Piece)
_OF_POOL: Final = 3  # models without which two cheap ones and a strong one cannot be told apart


@dataclass(frozen=True, slots=True)
class Cascading:
    """How to cascade.

    Attributes:
        tau: How sure of its answer a model must be for that to be taken, 0 to 1.
        check: What tells how sure it is.
        agree: Whose answers must agree instead: two of one model (``self``), or those of two
            models but the last (``pool``).
        temperature: That of the second of two answers of one model.
    """

    tau: float
    check: Check
    agree: Agree
    temperature: float


def climb(attempt: Attempt, settings: Cascading) -> AsyncGenerator[Event, None]:
    """Ask the pool in turn until an answer can be taken; what the last one says is passed on.

    A pool of one model is asked a second time, with more effort.

    Raises:
        CapReached: The caps leave no call to make.
        GatewayError: No model gave a usable answer; the failure that tells most.
    """
    return _climb(_Way(attempt, settings)) if attempt.enough(2) else collapsed(attempt)


async def _climb(way: _Way) -> AsyncGenerator[Event, None]:
    for place, stage in enumerate(way.stages()):
        if not way.attempt.affords(len(stage)):
            break
        yield progress("asking", place=place, answers=len(stage))
        taken = await way.taken(stage)
        for event in way.told(place, taken):
            yield event
        if taken is not None:
            return
    async with aclosing(_top(way)) as events:
        async for event in events:
            yield event


async def _top(way: _Way) -> AsyncGenerator[Event, None]:
    """Give the answer of the last model, or if it has none the best so far."""
    last = way.last()
    if last is not None:
        yield progress("asking", place="last", answers=1)
        if way.formed:
            await way.heed(last)
        else:
            async with aclosing(_passed_on(way, last)) as events:
                async for event in events:
                    yield event
    if not way.begun:
        for event in way.attempt.committed(way.standing()):
            yield event


async def _passed_on(way: _Way, call: Asking) -> AsyncGenerator[Event, None]:
    """Pass on the answer to *call* from its first word on; nothing, if it does not come to that.

    Raises:
        GatewayError: It broke off after that.
    """
    kept: list[Event] = []
    async with way.attempt.hearing(call) as heard:
        async for event in heard:
            if isinstance(event, GatewayError):
                way.failed(event)
                return
            if isinstance(event, ToolCallStarted | ToolCallDelta):
                continue  # none was offered, or the answer would be waited for
            kept.append(_ended(event))
            if isinstance(event, _PIECES):
                way.begun = True
            if way.begun:
                for passed in (*way.attempt.warnings(), *kept):
                    yield passed
                kept.clear()
    if not way.begun:
        way.attempt.warn("not_escalated", "empty")


def _ended(event: Event) -> Event:
    """Return *event*; a call that is not passed on is no reason for an end."""
    acted = isinstance(event, Finished) and event.reason == "tool_calls"
    return replace(event, reason="stop") if isinstance(event, Finished) and acted else event


@dataclass(slots=True)
class _Way:
    """What was answered on the way up.

    ``begun``: the last answer has begun to be passed on.
    """

    attempt: Attempt
    settings: Cascading
    draws: list[Draw] = field(default_factory=list)
    begun: bool = False
    _latest: int = 0
    _by: str = ""
    _sure: float | None = None

    def stages(self) -> Iterator[tuple[Member, ...]]:
        """Yield whom to ask at once, cheapest first; a model that is asked twice stands twice."""
        pool = self.attempt.channels.pool
        cheap = pool[:-1] or pool
        agree = self.settings.agree
        if agree == "pool" and len(pool) < _OF_POOL:
            agree = "self"
            self.attempt.warn("confidence_source_changed", "pool -> self")
        if agree == "pool":
            yield cheap[:2]
            yield from ((member,) for member in cheap[2:])
            return
        for member in cheap:
            silent = agree == "off" and not member.capabilities.logprobs
            if silent:
                self.attempt.warn("confidence_source_changed", f"{member.model}: self")
            yield (member, member) if silent or agree == "self" else (member,)

    async def taken(self, stage: Sequence[Member]) -> Reply | None:
        """Ask *stage* and return the answer that can be trusted, None if there is none yet."""
        attempt = self.attempt
        self._latest = len(self.draws)
        outcomes = await attempt.ask([self._asking(stage, nth) for nth in range(len(stage))])
        self.draws += [self._draw(nth, outcome) for nth, outcome in enumerate(outcomes)]
        refusal = declined(self.draws)
        if refusal is not None:
            self._by = "refusal"
            return refusal
        if len(stage) == 1 and self.settings.agree == "off":
            return await self._if_sure(stage[0], outcomes[0])
        self._by = "agreement"
        found = clusters(draw for draw in self.draws if isinstance(draw, Candidate))
        agreed = bool(found) and len(found[0].members) > 1
        return representative(found[0].members).reply if agreed else None

    def told(self, stage: int, taken: Reply | None) -> Iterator[Event]:
        """Yield how *stage* ended: with the answer that was *taken*, or with the best so far."""
        ended = {"stage": stage, "taken": taken is not None, "by": self._by, "sure": self._sure}
        yield Note("cascade", ended)
        best = self.best()
        if taken is not None:
            yield from self.attempt.committed(taken)
        elif best is not None:
            yield from self.attempt.improved(best)

    def best(self) -> Reply | None:
        """Return the answer to give if no better one comes: the first of the latest stage."""
        found = usable(self.draws, strict=self.attempt.checks.strict)
        latest = [one for one in found if one.place >= self._latest] or found[-1:]
        return latest[0].reply if latest else None

    def standing(self) -> Reply:
        """Return the best answer.

        Raises:
            GatewayError: There is none; the failure that tells most.
        """
        best = self.best()
        if best is None:
            raise failure(self.draws)
        return best

    def last(self) -> Asking | None:
        """Return the call whose answer is given whatever it is, None if it cannot be made."""
        attempt = self.attempt
        request, pool = attempt.request, attempt.channels.pool
        if len(pool) == 1:
            request = replace(request, thinking=raised(request.thinking))
            if request.thinking == attempt.request.thinking:
                attempt.warn("not_escalated", "There is no stronger model and no more effort.")
                return None
        if attempt.late or not attempt.affords(1):
            return None
        return Asking(pool[-1], replace(request, role="answer", step="a0"))

    @property
    def formed(self) -> bool:
        """Whether the answer has a form to keep to, which shows only when it is whole."""
        request = self.attempt.request
        return request.response_format is not None or bool(request.tools)

    async def heed(self, call: Asking) -> None:
        """Make the last *call*; its answer is the best if it keeps to the form."""
        (outcome,) = await self.attempt.ask(
            [replace(call, request=replace(call.request, stream=False))]
        )
        if isinstance(outcome, GatewayError):
            self.failed(outcome)
            return
        self._latest = len(self.draws)
        draw = self._draw(0, outcome)
        self.draws.append(draw)
        if isinstance(draw, Erasure):
            self.attempt.warn("not_escalated", draw.lost)

    def failed(self, error: GatewayError) -> None:
        """Note that the last call ended in *error*.

        Raises:
            GatewayError: Some of its answer was passed on.
        """
        self.draws.append(self.attempt.sift(len(self.draws), error))
        if self.begun:
            raise error
        self.attempt.warn("not_escalated", error.code)

    def _asking(self, stage: Sequence[Member], nth: int) -> Asking:
        member, place = stage[nth], len(self.draws) + nth
        again = member in stage[:nth]
        spread = self.attempt.spread(self.settings.temperature if again else None)
        request = spread.draw(self.attempt.request, member, place)
        return Asking(member, telling(request, member) if self._counts(member) else request)

    def _draw(self, nth: int, outcome: Outcome) -> Draw:
        """Return the draw of *outcome*, as the client is to see it."""
        keeps = self.attempt.request.sampling.logprobs
        if isinstance(outcome, Reply) and not keeps:
            outcome = replace(outcome, logprobs=None)
        return self.attempt.sift(self._latest + nth, outcome)

    async def _if_sure(self, member: Member, outcome: Outcome) -> Reply | None:
        """Return the latest answer if *member*, whose it is, is sure enough of it."""
        draw = self.draws[-1]
        self._by, self._sure = "confidence", None
        if isinstance(draw, Candidate) and isinstance(outcome, Reply):
            if self._counts(member):
                self._sure = ranked_sureness(self.attempt, member, outcome)
            elif self.attempt.affordable(2) == 2:  # with one left it goes to the last model
                self._sure = await self._checked(member, draw)
        enough = self._sure is not None and self._sure >= self.settings.tau
        return draw.reply if enough else None

    async def _checked(self, member: Member, draw: Candidate) -> float | None:
        request = check_request(self.attempt.request, draw.reply, member, f"t{draw.place}")
        (outcome,) = await self.attempt.ask([Asking(member, request)])
        return read_check(outcome) if isinstance(outcome, Reply) else None

    def _counts(self, member: Member) -> bool:
        """Tell whether the probabilities of its words say how sure *member* is."""
        if self.settings.agree != "off" or self.settings.check == "p_true":
            return False
        return self.settings.check == "probabilities" or is_calibrated(self.attempt, member)
