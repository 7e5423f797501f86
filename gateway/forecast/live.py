"""Makes the world that a forecast walks through, of what is known at this moment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from statistics import fmean, median
from typing import Final

from gateway.admission.need.charge import Charge, charge
from gateway.admission.need.conformal import Conformal, Predictor
from gateway.admission.need.stream import LEAST
from gateway.admission.need.value import Need, Past, SubCall
from gateway.clock import loop_time
from gateway.forecast.asked import ForecastAsked
from gateway.forecast.habits import Habits
from gateway.forecast.seats import Seats, with_equals
from gateway.forecast.standing import Pool, Stood, charged_by, groups, own_windows, pools_of
from gateway.forecast.world import Flying, Journey, Lane, World
from gateway.pacing.pacer import Pacer
from gateway.planning.plan import Plan
from gateway.policy.keys import Caller
from gateway.policy.models import Model
from pricing.usage import Usage

_TOKENS_PER_BYTE: Final = 0.25
_MOST_SPREAD: Final = 3.0
_MOST_QUEUED: Final = 256
_MOST_FLYING: Final = 64


@dataclass(frozen=True, slots=True)
class Scene:
    """What is walked, and what is to be told beside the figures.

    ``unpriced`` names a model whose price is not known. ``ground`` is what the lengths of answers
    rest on: ``calls``, ``role`` or ``model`` that were alike, ``few`` of them, or ``none``;
    ``samples`` is how many there were.
    """

    world: World
    journey: Journey
    ground: str
    samples: int
    notes: tuple[str, ...] = ()
    unpriced: str | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What forecasts are made of: what paces, and how requests of techniques go."""

    pacer: Pacer | None
    habits: Habits

    def predictor(self) -> Predictor:
        """Return what predicts needs; where nothing paces, one that knows of none."""
        return Conformal() if self.pacer is None else self.pacer.predictor


async def scene_of(asked: ForecastAsked, plan: Plan, caller: Caller, known: Known) -> Scene:
    """Return the scene of the run that is *asked* about; nothing is changed by it.

    Raises:
        Unavailable: The store or the database does not answer.
    """
    forms = known.habits.of(plan.technique, plan.model.name)
    seats = Seats(plan, forms)
    drafter = _Drafter(asked, plan, known.predictor())
    everyone, equals = with_equals(seats.all)
    drafts = [drafter.draft(*seat) for seat in everyone]
    pools = await pools_of(known.pacer, (draft.model for draft in drafts))
    stood = Stood()
    charged = [
        charged_by(stood, pools[pool], draft.model.target.model, draft.charge())
        if (pool := draft.model.account.pool) in pools
        else []
        for draft in drafts
    ]
    together = groups(charged)
    own = await own_windows(stood, known.pacer, caller)
    lanes = tuple(
        replace(draft.lane, group=group, charged=(*rows, *own), equals=equals.get(place, ()))
        for place, (draft, rows, group) in enumerate(zip(drafts, charged, together, strict=True))
    )
    first = drafts[0]
    surface_s = known.pacer.surface_s(streamed=asked.stream) if known.pacer else 0.0
    world = World(
        windows=tuple(stood.windows),
        names=tuple(stood.names),
        lanes=lanes,
        shapes=seats.shapes,
        queued=tuple(_queued(drafts, pools.values())),
        patience_ms=1000 * surface_s,
    )
    return Scene(
        replace(world, flying=tuple(_flying(stood, pools, first.input, world))),
        _journey(asked, first),
        first.ground(),
        len(first.past.outputs),
        tuple(_notes(first, seats, known.pacer)),
        next((draft.model.name for draft in drafts if draft.model.price is None), None),
    )


def _journey(asked: ForecastAsked, first: _Draft) -> Journey:
    ratio = first.past.ratio or _TOKENS_PER_BYTE
    growth = asked.growth(ratio)
    return Journey(asked.steps, first.input, growth, asked.grows, asked.concurrency)


@dataclass(frozen=True, slots=True)
class _Draft:
    """A lane that has no windows yet, and what it was made of."""

    model: Model
    lane: Lane
    need: Need
    past: Past
    input: int

    def ground(self) -> str:
        """Return what the lengths of answers rest on."""
        count = len(self.past.outputs)
        return self.need.ground if count >= LEAST else "few" if count else "none"

    def charge(self) -> Charge:
        """Return what the first call is charged."""
        return charge(self.model.account.rule, self.need, self.lane.traits)


@dataclass(frozen=True, slots=True)
class _Drafter:
    """Makes the drafts of one question."""

    asked: ForecastAsked
    plan: Plan
    predictor: Predictor

    def draft(self, model: Model, role: str) -> _Draft:
        """Return the lane of *model* in *role*, as calls to it went lately."""
        predictor = self.predictor
        call = self._call(model, role, (self.asked.tokens_per_step or 0) / _TOKENS_PER_BYTE)
        past = predictor.past(call)
        outputs = past.outputs or _guessed(predictor.need(call))
        ratio = past.ratio or _TOKENS_PER_BYTE
        if self.asked.messages is None:
            entry = max((self.asked.tokens_per_step or 1) - round(median(outputs)), 1)
            call = self._call(model, role, entry / ratio)
        else:
            entry = max(round(call.traits.text_bytes * ratio), 1)
        need = predictor.need(call)
        if call.traits.images or call.traits.sounds:
            entry = need.input
        account = model.account
        lane = Lane(
            name=model.name,
            group=0,
            charged=(),
            outputs=outputs,
            firsts=past.firsts,
            paces=past.paces,
            bound=need.output,
            spread=min(max(need.input / entry, 1.0), _MOST_SPREAD),
            traits=call.traits,
            rules=(account.rule, account.rule_after),
            price=model.price,
            context=model.target.capabilities.context,
        )
        return _Draft(model, lane, need, past, entry)

    def _call(self, model: Model, role: str, size: float) -> SubCall:
        """Return the first call, which has *size* bytes where there are no messages."""
        asked = self.asked
        return SubCall(
            model.name,
            self.plan.technique,
            role,
            asked.traits(round(size), framed=self.plan.card is None),
            whole=not asked.stream,
            most_output=model.max_output,
            at_s=loop_time(),
        )


def _guessed(need: Need) -> tuple[float, ...]:
    """Return lengths of answers where none were counted."""
    likely = need.likely
    return max(likely // 2, 1), likely, max(min(2 * likely, need.most), 1)


def _queued(drafts: Sequence[_Draft], pools: Iterable[Pool]) -> Iterable[tuple[int, int]]:
    """Yield the calls that wait before ours: each is taken to be as the account's last minute."""
    for pool in pools:
        lane = next(n for n, it in enumerate(drafts) if it.model.account is pool.account)
        requests, tokens = pool.account.recent.total(loop_time())
        draft = drafts[lane]
        usual = tokens / requests - fmean(draft.lane.outputs) if requests else draft.input
        count = min(pool.state.queued, _MOST_QUEUED)
        for _ in range(count):
            yield lane, max(round(usual * pool.state.queued / count), 1)


def _flying(stood: Stood, pools: dict[str, Pool], tokens: int, world: World) -> Iterable[Flying]:
    """Yield what comes back when the calls end that are under way."""
    lane = world.lanes[0]
    caps = [float(window.cap) for window in world.windows]
    taken = lane.taken(Usage(tokens, ceil(fmean(lane.outputs))), caps)
    rows = zip(lane.charged, taken.held, taken.used, strict=True)
    unused = {row.place: 1 - min(used / hold, 1.0) for row, hold, used in rows if hold > 0}
    calls = min(sum(pool.state.leases for pool in pools.values()), _MOST_FLYING)
    for place, held in enumerate(stood.held):
        if held <= 0:
            continue
        if stood.windows[place].name.rsplit(":", 2)[1] == "concurrency":
            yield Flying(place, held, 1.0)
        elif calls:
            yield Flying(place, calls, held / calls * unused.get(place, 0.0))


def _notes(first: _Draft, seats: Seats, pacer: Pacer | None) -> Iterable[str]:
    account = first.model.account
    if pacer is None or not pacer.paces:
        yield "Pacing is off here: limits of accounts are left out."
    elif account.tells and not account.heard:
        yield f"No answer of {account.name} has told its limits yet: they are left out."
    if not first.past.outputs:
        yield (
            "Too few answers like these have been counted: their length is guessed, around "
            f"{first.need.likely} tokens."
        )
    if not first.past.firsts:
        yield "Too few answers have been timed: the time that calls take is left out."
    if not seats.seen and seats.technique != "none":
        yield (
            f"No request with {seats.technique} has been seen: it is taken to make the calls that "
            "it makes with its own defaults."
        )
