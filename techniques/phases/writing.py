"""Has an answer written anew, and commits it only as far as it passes; else what there was."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import Final

from techniques.core.errors import GatewayError, StreamBroken
from techniques.core.events import Event, Finished, Note
from techniques.core.fanout import Asking, Heard
from techniques.core.reply import Fold, Reply
from techniques.parts.critique import repair
from techniques.parts.guards import Guards, Strictness
from techniques.parts.transcript import Fence, Unfenced
from techniques.parts.window import Window
from techniques.phases.attempt import Attempt, progress
from techniques.phases.drafting import objected
from techniques.phases.judging import preferred

_HELD: Final = 2  # sentences that must have passed before any is let through


@dataclass(frozen=True, slots=True)
class Writing:
    """One answer to be written.

    Attributes:
        call: Who is asked for it, and how.
        instead: What is committed where it does not come to be or does not pass.
        guards: What it must pass.
        strictness: How much of that before it is seen.
    """

    call: Asking
    instead: Reply
    guards: Guards
    strictness: Strictness


def written(attempt: Attempt, writing: Writing) -> AsyncGenerator[Event, None]:
    """Yield the events of the answer, its beginning and end included.

    It is the same answer for a client that streams and one that does not. Once any of it was
    seen it is not replaced: a failure is then raised, and a broken guard told by a warning. JSON
    is of use only as a whole, and always read to its end.

    Raises:
        GatewayError: The writing broke off after some of it was seen.
    """
    whole = writing.strictness == "full" or attempt.request.response_format is not None
    return _read(attempt, writing) if whole else _passed_on(attempt, writing)


async def _read(attempt: Attempt, writing: Writing) -> AsyncGenerator[Event, None]:
    reply, broken = await _whole(attempt, writing)
    if reply is not None and broken is None and writing.strictness == "full":
        yield progress("judging")
        broken = await _rejected(attempt, writing, reply)
    yield _note(writing, broken)
    for event in attempt.committed(writing.instead if reply is None or broken else reply):
        yield event


async def _passed_on(attempt: Attempt, writing: Writing) -> AsyncGenerator[Event, None]:
    passing = _Passing(writing, attempt.fence)
    async with attempt.hearing(writing.call) as heard:
        async for event in heard:
            for seen in passing.take(event):
                yield seen
            if passing.hopeless:
                break
    broken = passing.end(attempt)
    yield _note(writing, broken)
    if passing.replaceable(broken):
        for event in attempt.committed(writing.instead):
            yield event
        return
    for event in (*passing.window.rest(), *attempt.warnings(), passing.finished()):
        yield event


class _Passing:
    """An answer as it comes in, and what may be seen of it."""

    def __init__(self, writing: Writing, fence: Fence) -> None:
        hold = _HELD if writing.strictness == "cheap" else 0
        self.window = Window(writing.guards.passage, hold)
        self._writing = writing
        self._unfenced = Unfenced(fence)
        self._folded = Fold()
        self._failure: GatewayError | None = None
        self._finished: Finished | None = None

    @property
    def hopeless(self) -> bool:
        """Whether no more of it is wanted."""
        return self._failure is not None or self.window.failed

    def take(self, event: Heard) -> list[Event]:
        """Take *event* in and return what may be seen now."""
        if isinstance(event, GatewayError):
            self._failure = event
            return []
        seen = [one for clear in self._unfenced.take(event) for one in self._clear(clear)]
        return [] if self.window.failed else seen

    def _clear(self, event: Event) -> list[Event]:
        """Take *event* in, of which no fence is left."""
        self._folded.feed(event)
        if self._unfenced.found:
            self.window.broken = self.window.broken or "form"
        if isinstance(event, Finished):
            self._finished = event
            return []
        return [] if self.window.failed else self.window.take(event)

    def end(self, attempt: Attempt) -> str | None:
        """Return what is wrong with the answer as a whole, and warn of it if it was seen.

        Raises:
            GatewayError: It broke off after some of it was seen.
        """
        if self.window.failed:
            return self.window.broken
        if self._finished is None:
            failure = self._failure or StreamBroken("The answer ended before the model finished.")
            attempt.note_time(failure)
            if self.window.opened:
                raise failure
            return "failed"
        self.window.finish()
        guarded = self._writing.strictness != "off"
        whole = self._writing.guards.whole(self._folded.reply()) if guarded else None
        broken = self.window.broken or whole
        if broken and self.window.opened:
            attempt.warn("synthesis_doubtful", broken)
        return broken

    def replaceable(self, broken: str | None) -> bool:
        """Tell whether another answer takes its place: it is *broken*, or says nothing."""
        empty = not self._folded.so_far().text.strip()
        return not self.window.opened and (broken is not None or empty)

    def finished(self) -> Finished:
        """Return the end; a call of a tool that was not let through is no reason for it."""
        end = self._finished or Finished()
        return replace(end, reason="stop") if end.reason == "tool_calls" else end


async def _whole(attempt: Attempt, writing: Writing) -> tuple[Reply | None, str | None]:
    """Return the answer, once mended if its form is broken, and what is wrong with it."""
    guards = writing.guards
    call = replace(writing.call, request=replace(writing.call.request, stream=False))
    (outcome,) = await attempt.ask([call])
    if not isinstance(outcome, Reply):
        return None, "failed"
    broken = _broken(attempt, guards, outcome)
    defects = attempt.checks.defects(outcome)
    if broken != "form" or not defects or not attempt.affords(1):
        return outcome, broken
    again = objected(call.request, outcome, repair(defects))
    again = replace(again, step=f"{call.request.step}r")
    (mended,) = await attempt.ask([replace(call, request=again)])
    if not isinstance(mended, Reply):
        return None, "failed"
    return mended, _broken(attempt, guards, mended)


def _broken(attempt: Attempt, guards: Guards, reply: Reply) -> str | None:
    """Return what *reply* breaks; one that writes as the prompts do what marks off data is none."""
    return "form" if attempt.fence.within(reply.text) else guards.whole(reply)


async def _rejected(attempt: Attempt, writing: Writing, reply: Reply) -> str | None:
    """Return ``preference`` unless a judge prefers *reply*, or cannot be paid."""
    if not attempt.affords(2):
        return None
    side = await preferred(attempt, writing.instead, reply, f"p{writing.call.request.step}")
    return None if side == "second" else "preference"


def _note(writing: Writing, broken: str | None) -> Note:
    return Note("synthesis", {"guard": writing.strictness, "broke": broken})
