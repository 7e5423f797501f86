"""One execution of a technique: what it works on, what it may still spend, what it met."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from techniques.core.channel import Channels, Member
from techniques.core.errors import CapReached, DeadlinePassed
from techniques.core.events import Event, Note, Provisional, Warned
from techniques.core.fanout import (
    Answered,
    Asking,
    Heard,
    Outcome,
    ask_each,
    asking,
    hearing,
    run_each,
)
from techniques.core.json import Json
from techniques.core.reply import Reply, unfold
from techniques.core.request import Request
from techniques.core.task import Ran, Task
from techniques.parts.answers import Expected, expect
from techniques.parts.aside import Aside
from techniques.parts.candidates import Draw, sift, tally
from techniques.parts.checks import Checks
from techniques.parts.room import wider
from techniques.parts.sampling import Spread, Temperatures
from techniques.parts.transcript import Fence, pictures

OptionsT = TypeVar("OptionsT")


@dataclass(slots=True)
class Attempt:
    """What the engines work with.

    Attributes:
        technique: The name that the client asked for.
        task: The task, its request in full.
        channels: The models that may be asked.
        expected: The kind of answer that is asked for.
        checks: The rules that the request sets for its answer.
        fence: What marks off data in prompts.
        seed: From which the seeds of the draws come.
        late: The deadline has come: what there is must do.
    """

    technique: str
    task: Task[Any]
    channels: Channels
    expected: Expected
    checks: Checks
    fence: Fence
    seed: int
    late: bool = False
    _warned: list[Warned] = field(default_factory=list)
    _told: int = 0
    _best: str = ""
    _notes: list[Note] = field(default_factory=list)

    @property
    def request(self) -> Request:
        """The client's request."""
        return self.task.request

    @property
    def prefilled(self) -> bool:
        """Whether the client has begun the answer: written anew, it would begin once more."""
        turns = self.request.messages
        return bool(turns) and turns[-1].role == "assistant"

    @property
    def until(self) -> float | None:
        """When the last sub-call must have ended, on the clock of ``Task.deadline``."""
        return self.task.deadline

    def affordable(self, calls: int) -> int:
        """Return how many of *calls* the caps leave; none is left once the deadline has come."""
        return 0 if self.late else self.task.allowance.affordable(calls)

    def affords(self, calls: int) -> bool:
        """Tell whether all of *calls* can be made, and warn if not."""
        if self.affordable(calls) == calls:
            return True
        if not self.late:
            self.warn("cap_reached", "The caps leave no room for another step.")
        return False

    def room(self, steps: int, price: int) -> int:
        """Return how many of *steps* of *price* calls each the caps leave, and warn if none."""
        if not steps or not self.affords(price):
            return 0
        return self.affordable(price * steps) // price

    def enough(self, calls: int) -> bool:
        """Tell whether the caps leave the *calls* without which the technique makes no sense.

        Raises:
            CapReached: They leave none at all.
        """
        if self.affordable(1) == 0:
            raise CapReached("The caps on this request leave no call to make.")
        return self.affords(calls)

    async def ask(self, calls: Sequence[Asking]) -> list[Outcome]:
        """Make *calls* at once and return how they ended, in order."""
        outcomes = await ask_each(self._patient(calls), until=self.until)
        for outcome in outcomes:
            self.note_time(outcome)
        return outcomes

    def asking(
        self, calls: Sequence[Asking]
    ) -> AbstractAsyncContextManager[AsyncIterator[Answered]]:
        """Make *calls* at once; see ``fanout.asking``. Each end goes to ``sift``."""
        return asking(self._patient(calls), until=self.until)

    def _patient(self, calls: Sequence[Asking]) -> list[Asking]:
        """Return *calls* so that one whose thinking leaves no room for an answer is made again."""
        return [
            Asking(call.member, call.request, partial(self._wider, call.request)) for call in calls
        ]

    def _wider(self, request: Request, reply: Reply) -> Request | None:
        again = wider(request, reply)
        if again is None or not self.affordable(1):
            return None
        limit = again.sampling.max_output_tokens
        self._notes.append(Note("more_room", {"step": request.step, "max_tokens": limit}))
        return again

    def hearing(self, call: Asking) -> AbstractAsyncContextManager[AsyncIterator[Heard]]:
        """Make *call* and hear of it as it comes; see ``fanout.hearing``."""
        return hearing(call, until=self.until)

    async def run(self, programs: Sequence[str]) -> list[Ran | None]:
        """Run *programs* in the sandbox, if there is one, and return what they did.

        None for each that the deadline did not leave the time for.
        """
        if self.task.sandbox is None:
            return [Ran("unavailable")] * len(programs)
        runs = await run_each(self.task.sandbox, programs, until=self.until)
        if None in runs:
            self.out_of_time()
        return runs

    def sift(self, place: int, outcome: Outcome) -> Draw:
        """Return the draw at *place* as a candidate or an erasure."""
        self.note_time(outcome)
        return sift(place, outcome, self.checks, self.expected)

    def note_time(self, outcome: Outcome | Heard) -> None:
        """Remember if *outcome* says that the deadline has come, or that a cap forbade the call."""
        if isinstance(outcome, DeadlinePassed):
            self.out_of_time()
        elif isinstance(outcome, CapReached):
            self.warn("cap_reached", outcome.message)

    def out_of_time(self) -> None:
        """Remember, and tell, that the deadline has come."""
        if not self.late:
            self.late = True
            self.warn("deadline_reached", "The best answer so far is given.")

    def warn(self, code: str, detail: str = "") -> None:
        """Keep a warning for the client; one of each is enough."""
        warned = Warned(code, detail)
        if warned not in self._warned:
            self._warned.append(warned)

    def spread(self, temperature: Temperatures) -> Spread:
        """Return what makes the draws of this attempt differ."""
        return Spread(self.technique, self.seed, temperature)

    def drawer(self, place: int, *, everyone: bool, after: int = 0) -> Member:
        """Return who draws at *place*: the first model, or *everyone* of the pool in turn.

        With *after* the first model draws so often before the others take turns.
        """
        pool = self.channels.pool
        if not everyone or place < after or len(pool) == 1:
            return self.channels.primary
        if after:
            return pool[1 + (place - after) % (len(pool) - 1)]
        return pool[place % len(pool)]

    def aside(self, member: Member, step: str) -> Aside:
        """Return the technique's own question number *step*, to *member*."""
        return Aside(self.request, member, self.fence, step)

    def judge(self) -> Member:
        """Return who judges, and warn if it is the model itself, or cannot see the pictures."""
        judge = self.channels.judge or self.channels.primary
        if self.channels.judge is None:
            self.warn("self_judged", judge.name or judge.model)
        if not judge.capabilities.vision and pictures(self.request):
            self.warn("judge_blind", judge.name or judge.model)
        return judge

    def another(self, author: Member) -> Member:
        """Return another model of the pool than *author*, one that sees the pictures if any are.

        The author, if there is none.
        """
        seen = bool(pictures(self.request))
        others = (one for one in self.channels.pool if one.id != author.id)
        return next((one for one in others if one.capabilities.vision or not seen), author)

    def critic(self, author: Member | None = None, *, other: bool = False) -> Member:
        """Return who finds fault with what *author* wrote: the configured critic, or the author.

        With *other* rather another model of the pool; and a warning if the critic cannot see the
        pictures. Where nobody wrote it, the first model is the author.
        """
        author = author or self.channels.primary
        critic = self.channels.critic or (self.another(author) if other else author)
        if not critic.capabilities.vision and pictures(self.request):
            self.warn("judge_blind", critic.model)
        return critic

    def warnings(self) -> Iterator[Event]:
        """Yield the warnings that were not told yet, after notes of calls made again."""
        yield from self._notes
        self._notes.clear()
        yield from self._warned[self._told :]
        self._told = len(self._warned)

    def split(self) -> None:
        """Keep the warning that a vote was won by too little."""
        self.warn("no_consensus", "No two answers agree, or as many agree on another.")

    def improved(self, best: Reply | None) -> Iterator[Event]:
        """Yield the *best* reply so far for clients that want to see it, if its text is new."""
        if best is not None and best.text not in {"", self._best}:
            self._best = best.text
            yield Provisional(self.fence.blanked(best.text))

    def refused(self, draws: Sequence[Draw]) -> Note:
        """Return the note on *draws* that declined, and keep the warning."""
        self.warn("refusal_kept", "A third or more of the draws declined.")
        return Note("refusals", tally(draws))

    def beside(self, reply: Reply, others: Sequence[Reply]) -> Reply:
        """Return *reply* with the first of *others* beside it, as many as the client wants."""
        return replace(reply, others=tuple(others[: self.task.choices - 1]))

    def committed(self, reply: Reply) -> Iterator[Event]:
        """Yield what is still to say, then *reply* as the answer."""
        yield from self.warnings()
        yield from unfold(self.fence.cleared(reply))


def begin(task: Task[OptionsT], channels: Channels, technique: str) -> Attempt:
    """Return a new attempt at *task* by *technique*.

    Raises:
        RequestRejected: The request is no request of its dialect.
    """
    request = task.request.decoded()
    if request is not task.request:
        task = replace(task, request=request)
    own = request.sampling.seed
    return Attempt(
        technique,
        task,
        channels,
        expect(request),
        Checks(request),
        Fence(task.fence),
        task.random.getrandbits(31) if own is None else own,
    )


def progress(stage: str, **data: Json) -> Note:
    """Return the note that tells a waiting client which *stage* begins."""
    return Note("progress", {"stage": stage, **data})
