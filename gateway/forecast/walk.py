"""One walk: a run in virtual time, through a copy of the windows, with answers that are drawn."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from heapq import heappop, heappush
from math import inf
from random import Random  # noqa: TID251 - each walk has dice of its own, of the question's seed
from typing import Final

from gateway.admission.purse import Purse
from gateway.admission.windows import NEVER, RELEASE
from gateway.forecast.accounts import soonest
from gateway.forecast.outcome import Agent, Call, Outcome, Sum
from gateway.forecast.world import Charged, Flying, Journey, Lane, Part, World
from pricing.usage import Usage

_BETWEEN: Final = 2
"""How many calls are walked before others have their turn."""
_UNTIMED_MS: Final = 1000.0
"""After which a call of others is taken to end, where nobody knows how long calls take."""
_NOTICED_MS: Final = 1.0


class Walk:
    """A walk of *journey* through *world*, decided by *dice*."""

    def __init__(self, world: World, journey: Journey, dice: Random) -> None:
        self.outcome = Outcome()
        self._world = world
        self._journey = journey
        self._dice = dice
        self._now = 0.0
        self._windows = [copy(window) for window in world.windows]
        self._caps = [float(window.cap) for window in world.windows]
        self._own = {row.place for lane in world.lanes for row in lane.charged if row.own}
        self._places = [tuple(row.place for row in lane.charged) for lane in world.lanes]
        self._ours = [_slots(lane, lambda row: not row.by_step) for lane in world.lanes]
        self._theirs = [_slots(lane, lambda row: not row.own) for lane in world.lanes]
        self._lines: dict[int, deque[Call]] = {lane.group: deque() for lane in world.lanes}
        self._events: list[tuple[float, int, Call | Flying]] = []
        self._serial = 0
        self._walked = 0

    def go(self) -> Iterator[None]:
        """Walk to the end; yield now and then, so that whoever walks can do something else."""
        self._begin()
        while True:
            at = self._grant()
            if self._events:
                at = min(at, self._events[0][0])
            if at == inf:
                return
            self._now = at
            while self._events and self._events[0][0] <= at:
                self._ended(heappop(self._events)[2])
            if self._walked >= _BETWEEN:
                self._walked = 0
                yield

    def _begin(self) -> None:
        first = self._world.lanes[0]
        for flying in self._world.flying:
            for _ in range(flying.calls):
                self._later(self._dice.random() * self._lasts(first), flying)
        for lane, tokens in self._world.queued:
            self._ask(None, Part(lane), tokens)
        for _ in range(self._journey.agents):
            self._step(Agent(self._journey.input))

    def _later(self, after: float, what: Call | Flying) -> None:
        self._serial += 1
        heappush(self._events, (self._now + after, self._serial, what))

    def _lasts(self, lane: Lane, output: float | None = None) -> float:
        """Return how long a call takes, in milliseconds, if its answer has *output* tokens."""
        if not lane.firsts:
            return 0.0 if output is not None else _UNTIMED_MS
        tokens = self._one(lane.outputs) if output is None else output
        return 1000 * (self._one(lane.firsts) + self._one(lane.paces) * tokens)

    def _one(self, values: Sequence[float]) -> float:
        return values[int(self._dice.random() * len(values))]

    def _step(self, agent: Agent) -> None:
        shapes = self._world.shapes
        agent.shape = shapes[int(self._dice.random() * len(shapes))]
        agent.wave = 0
        self._wave(agent)

    def _wave(self, agent: Agent) -> None:
        """Ask for the calls of the next wave together."""
        agent.began, agent.longest = self._now, 0.0
        wave = agent.shape[agent.wave]
        for part in wave:
            if not self._world.lanes[part.lane].has_room(int(agent.input * part.ratio)):
                self._wall(agent)
                self._done(agent)
                return
        agent.open = len(wave)
        for number, part in enumerate(wave):
            call = self._ask(agent, part, int(agent.input * part.ratio))
            call.leads = not number
            if call.leads and not agent.wave and self._own:
                self._take_once(agent, call)

    def _ask(self, agent: Agent | None, part: Part, tokens: int) -> Call:
        tokens = max(tokens, 1)
        place = part.lane if agent is None else self._account(part.lane, tokens)
        lane = self._world.lanes[place]
        output = int(min(self._one(lane.outputs), lane.most_output(tokens)))
        usage = Usage(tokens, output, cache_read_tokens=int(tokens * part.cached))
        slots = (self._theirs if agent is None else self._ours)[place]
        taken, lasts = lane.taken(usage, self._caps), self._lasts(lane, output)
        call = Call(agent, usage, taken, self._now, place, slots, lasts)
        self._lines[lane.group].append(call)
        return call

    def _account(self, place: int, tokens: int) -> int:
        """Return the lane that takes a call: of equal ones that which can soonest."""
        lanes = self._world.lanes
        equals = lanes[place].equals
        if not equals:
            return place
        for window in self._windows:
            window.advance(self._now)
        each = sorted((place, *equals), key=lambda it: len(self._lines[lanes[it].group]))
        return soonest(each, lanes, self._windows, tokens)

    def _take_once(self, agent: Agent, call: Call) -> None:
        """Have *call* take what a step takes once; gauges of it are kept until the step ends."""
        once = [slot for slot, row in enumerate(self._lane(call).charged) if row.by_step]
        call.slots = (*call.slots, *once)
        places = (self._places[call.lane][slot] for slot in once)
        agent.kept = tuple(place for place in places if self._is_gauge(place))

    def _lane(self, call: Call) -> Lane:
        return self._world.lanes[call.lane]

    def _is_gauge(self, place: int) -> bool:
        window = self._windows[place]
        return not isinstance(window, Purse) and window.kind == "gauge"

    def _grant(self) -> float:
        """Let through who can go; return when the next one can, as far as windows tell.

        Who is beyond its own limit does not stand in the way of others.
        """
        return min((self._pass(line) for line in self._lines.values() if line), default=inf)

    def _pass(self, line: deque[Call]) -> float:
        soonest, aside = inf, []
        while line:
            wait, binding = self._wait(line[0])
            if wait == 0:
                self._send(line.popleft())
                continue
            if wait == NEVER:
                self._refused(line.popleft())
                continue
            if wait != RELEASE:
                soonest = min(soonest, self._now + wait)
            if binding not in self._own:
                break
            aside.append(line.popleft())
        line.extendleft(reversed(aside))
        return soonest

    def _wait(self, call: Call) -> tuple[float, int]:
        """Return how long the first in line has to wait for its windows, and for which."""
        if call.agent is not None and call.agent.stopped:
            return NEVER, -1
        worst, binding, now, held = 0.0, -1, self._now, call.taken.held
        places = self._places[call.lane]
        for slot in call.slots:
            place = places[slot]
            window = self._windows[place]
            window.advance(now)
            wait = window.wait(held[slot])
            if wait == NEVER:
                call.binding = place
                return NEVER, place
            if wait == RELEASE:
                if worst == 0:
                    worst, binding = RELEASE, place
            elif wait > 0 and (worst == RELEASE or wait > worst):
                worst, binding = wait, place
        if call.binding < 0:
            call.binding = binding
        return worst, binding

    def _send(self, call: Call) -> None:
        self._walked += 1
        places = self._places[call.lane]
        for slot in call.slots:
            self._windows[places[slot]].take(call.taken.held[slot])
        call.granted = self._now
        waited = self._now - call.asked
        if call.agent is not None and waited >= _NOTICED_MS:
            bound = self.outcome.bound
            bound[call.binding] = bound.get(call.binding, 0.0) + waited
            if waited > self._world.patience_ms or call.binding in self._own:
                self.outcome.suspensions += 1
            else:
                self.outcome.holds += 1
        self._later(call.lasts, call)

    def _refused(self, call: Call) -> None:
        """Have the agent of a call that can never go end."""
        agent = call.agent
        if agent is None:
            return
        if not agent.stopped and isinstance(self._windows[call.binding], Purse):
            step, outcome = agent.done + 1, self.outcome
            outcome.broke_step = min(outcome.broke_step or step, step)
            agent.stopped = True
        elif not agent.stopped:
            self._wall(agent)
        self._closed(agent)

    def _wall(self, agent: Agent) -> None:
        step, outcome = agent.done + 1, self.outcome
        outcome.wall_step = min(outcome.wall_step or step, step)
        agent.stopped = True

    def _ended(self, what: Call | Flying) -> None:
        if isinstance(what, Flying):
            window = self._windows[what.place]
            window.advance(self._now)
            if not isinstance(window, Purse):
                window.end(what.each, 0, self._now)
            return
        agent, taken = what.agent, what.taken
        kept = () if agent is None else agent.kept
        places = self._places[what.lane]
        for slot in what.slots:
            if places[slot] not in kept:
                self._give_back(places[slot], taken.held[slot], taken.used[slot], what.granted)
        if agent is None:
            return
        sums = self.outcome.sums
        if what.lane not in sums:
            price = self._world.lanes[what.lane].price
            sums[what.lane] = Sum(price if price is not None and price.tiers else None)
        sums[what.lane].add(what.usage)
        agent.longest = max(agent.longest, what.lasts)
        if what.leads:
            agent.answer = what.usage.output_tokens
        self._closed(agent)

    def _give_back(self, place: int, held: int, used: int, since: float) -> None:
        window = self._windows[place]
        window.advance(self._now)
        window.end(held, used, since)

    def _closed(self, agent: Agent) -> None:
        """Note that a call of *agent* is no more; after the last of a wave it goes on."""
        agent.open -= 1
        if agent.open:
            return
        agent.work += agent.longest
        agent.waiting += max(self._now - agent.began - agent.longest, 0.0)
        if agent.stopped:
            self._done(agent)
        elif agent.wave + 1 < len(agent.shape):
            agent.wave += 1
            self._wave(agent)
        else:
            self._went(agent)

    def _went(self, agent: Agent) -> None:
        """Go on to the next step, whose context is larger."""
        self._release(agent)
        agent.done += 1
        self.outcome.steps += 1
        journey = self._journey
        if journey.grows:
            agent.input += agent.answer + journey.growth
        if agent.done < journey.steps:
            self._step(agent)
        else:
            self._done(agent)

    def _release(self, agent: Agent) -> None:
        for place in agent.kept:
            self._give_back(place, 1, 1, self._now)
        agent.kept = ()

    def _done(self, agent: Agent) -> None:
        self._release(agent)
        outcome = self.outcome
        if self._now >= outcome.wall_ms:
            outcome.wall_ms = self._now
            outcome.work_ms, outcome.waiting_ms = agent.work, agent.waiting


def _slots(lane: Lane, wanted: Callable[[Charged], bool]) -> tuple[int, ...]:
    return tuple(slot for slot, row in enumerate(lane.charged) if wanted(row))
