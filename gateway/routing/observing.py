"""What is observed of requests that were left to a router, and who keeps it: off their way."""

from __future__ import annotations

import hashlib
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol
from urllib.parse import quote

import anyio
import orjson
import structlog

from gateway.channels.overheard import Heard
from gateway.clock import utc_now
from gateway.metering.ledger import CallFinished, RequestFinished
from gateway.planning.plan import Plan
from gateway.policy.keys import Caller
from gateway.policy.models import Model
from gateway.routing.pace import Pace
from gateway.wire.dialect import Call
from pricing.cost import cost
from router_service.arms import PLAIN
from router_service.contract import Feedback, Observation, Observations, RouteQuery
from techniques.core.json import Json

_PICO: Final = 1e12
_MOST: Final = 10_000
_BATCH: Final = 250
_PAUSE_S: Final = 0.25
_ANSWERS: Final = frozenset({"answer", "candidate"})
_TELLING: Final = frozenset(
    {"success", "truncated", "technique_error", "upstream_error", "deadline"}
)
"""Ends of a request that say something of its arm; a client that left says nothing."""
_FORM: Final = "invalid_answer"
_LEAST: Final = 1e-6

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Ended:
    """A request that was left to a router, as it ended.

    ``replayed`` calls of its run were made before, and had cost ``saved`` picodollars; ``paused_s``
    it was held at rate limits. ``call`` is what was asked, and ``caller`` who asked; nobody
    keeps it for long.
    """

    fact: RequestFinished
    plan: Plan
    params: Json = None
    replayed: int = 0
    saved: int = 0
    paused_s: float = 0.0
    call: Call | None = None
    caller: Caller = field(default_factory=Caller)


def observation_of(ended: Ended) -> Observation | None:
    """Return what is observed of *ended*, None where that tells nothing of its arm."""
    fact, plan = ended.fact, ended.plan
    routed, query = plan.routed, plan.query
    if routed is None or query is None or fact.outcome not in _TELLING or not fact.rows:
        return None
    picodollars = _spent(fact.rows)
    if picodollars is not None:
        picodollars += ended.saved
    quality = 0.0 if _lost_form(fact) else None
    began_s = None if fact.begun_s is None or ended.replayed else fact.begun_s
    return Observation.model_construct(
        id=f"{quote(fact.key or '', safe='')}/{fact.run}",  # a key's name may have a slash, too
        request_id=fact.request_id,
        at=utc_now().timestamp(),
        model=query.model,
        arm=routed.arm,
        features=query.features,
        vector=query.vector,
        pool=query.pool,
        caller=fact.key or "",
        params_hash=_hashed(ended.params),
        propensity=max(routed.propensity, _LEAST),
        explored=routed.explored,
        counterfactual=False,
        quality=quality,
        plain_quality=quality if routed.arm == PLAIN.name else None,
        source="" if quality is None else "schema",
        reliability=1.0,
        repeats=1,
        spread=None,
        cost_usd=None if picodollars is None else picodollars / _PICO,
        cost=_times(ended, query, picodollars),
        calls=len(fact.rows) + ended.replayed,
        latency_ms=None if ended.replayed else max(fact.seconds - ended.paused_s, 0.0) * 1000,
        first_token_ms=None if began_s is None else began_s * 1000,
        outcome=fact.outcome,
    )


def _spent(rows: Sequence[CallFinished]) -> int | None:
    total = 0
    for row in rows:
        if row.cost is None:
            return None
        total += row.cost
    return total


def _lost_form(fact: RequestFinished) -> bool:
    """Return whether the answer did not keep the form that was asked for: that needs no judge."""
    return fact.code == _FORM or any(warned.code == _FORM for warned in fact.warnings)


def _times(ended: Ended, query: RouteQuery, picodollars: int | None) -> float | None:
    """Return what it cost in plain calls: of the call that was one, else of what one would be."""
    if ended.plan.routed is not None and ended.plan.routed.arm == PLAIN.name:
        return 1.0
    plain = _plain(ended, query)
    if picodollars is None or not plain:
        return None
    return picodollars / plain


def _plain(ended: Ended, query: RouteQuery) -> float | None:
    """Return the picodollars of the plain call: what an answer took, at the price asked for."""
    plan = ended.plan
    asked = next((one for one in (*plan.models, *plan.pool) if one.name == query.model), None)
    first = next(
        (row for row in ended.fact.rows if row.outcome == "ok" and row.role in _ANSWERS), None
    )
    if asked is not None and first is not None:
        return first.cost if first.model == asked.name else _at_price(asked, first)
    return None if query.plain_usd is None else query.plain_usd * _PICO


def _at_price(model: Model, row: CallFinished) -> float | None:
    return None if model.price is None else cost(row.usage, model.price)


def _hashed(params: Json) -> str:
    if not params:
        return ""
    text = orjson.dumps(params, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(text, digest_size=8).hexdigest()


class Forgets(Protocol):
    """Where something was kept of requests once, whether or not more is kept now."""

    async def forget(self, caller: str) -> int:
        """Delete what was observed of *caller*, and return how many rows that were."""
        ...


class Said(Protocol):
    """Counts what somebody said of an answer."""

    def __call__(self, *, known: bool) -> None:
        """Count it; ``known``: something is known of the request."""
        ...


def _unsaid(*, known: bool) -> None:
    del known


class Observer:
    """Hands what is observed to *observations*, soon; what is too much is dropped and counted.

    ``beside`` is told of each request that tells something, at once and in its way: it must not
    take long. ``said`` counts feedback; ``listener`` chooses what is judged. ``archive`` deletes
    what was kept of a key: also where nothing is observed any more.
    """

    def __init__(
        self,
        observations: Observations | None,
        count: Callable[[str, int], None],
        pace: Pace,
        *,
        most: int = _MOST,
    ) -> None:
        self.observations = observations
        self.archive: Forgets | None = observations
        self._count = count
        self.pace = pace
        self._most = most
        self._waiting: deque[Observation] = deque()
        self._sayings: deque[Feedback] = deque(maxlen=most)
        self._come = anyio.Event()
        self._failing = False
        self._recent: OrderedDict[str, tuple[str, str]] = OrderedDict()
        self.said: Said = _unsaid
        self.beside: list[Callable[[Ended, Observation], None]] = []
        self.listener: Callable[[], Heard | None] | None = None

    def listen(self) -> Heard | None:
        """Return where to write down what a technique answers, None where nobody wants it."""
        return None if self.listener is None else self.listener()

    def ended(self, ended: Ended) -> None:
        """Take in how a request ended; never waits, never fails."""
        observed = observation_of(ended)
        if observed is None:
            return
        if observed.outcome == "success" and observed.latency_ms is not None:
            name = ended.plan.model.name
            self.pace.took(name, observed.arm, observed.latency_ms / 1000)
        for told in self.beside:
            told(ended, observed)
        self._remember(observed)
        if self.observations is None:
            return
        if len(self._waiting) >= self._most:
            self._count("dropped", 1)
            return
        self._waiting.append(observed)
        self._come.set()

    def say(self, said: Feedback) -> None:
        """Hand over what is *said* of an answer, after what was observed of it; never waits."""
        self._sayings.append(said)
        self._come.set()

    def arm_of(self, request_id: str, caller: str | None) -> str | None:
        """Return what was chosen for a request of *caller* not long ago, None if none is known."""
        whose, arm = self._recent.get(request_id, ("", None))
        return arm if whose == (caller or "") else None

    async def forget(self, caller: str) -> int:
        """Delete what was observed of *caller*, also what waits; return how many rows that were.

        Raises:
            RouterGone: Nobody knows.
            DatabaseLost: As well.
            DatabaseUnusable: As well.
        """
        kept = [one for one in self._waiting if one.caller != caller]
        unkept = len(self._waiting) - len(kept)
        self._waiting = deque(kept)
        return unkept + (0 if self.archive is None else await self.archive.forget(caller))

    def _remember(self, observed: Observation) -> None:
        self._recent[observed.request_id] = observed.caller, observed.arm
        if len(self._recent) > self._most:
            self._recent.popitem(last=False)

    async def serve(self) -> None:
        """Hand over what comes, until cancelled."""
        while True:
            await self._come.wait()
            await anyio.sleep(_PAUSE_S)
            self._come = anyio.Event()
            await self.flush()

    async def flush(self) -> None:
        """Hand over all that waits, now; what cannot be kept is tried again later."""
        while self._waiting and self.observations is not None:
            batch = [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]
            try:
                await self.observations.observe(batch)
            except Exception:  # noqa: BLE001 - one of the boundaries: a service goes on
                if not self._failing:
                    _log.exception("observations.unkept", waiting=len(batch) + len(self._waiting))
                self._failed(batch)
                return
            self._failing = False
            self._count("kept", len(batch))
        await self._flush_sayings()

    async def _flush_sayings(self) -> None:
        while self._sayings and self.observations is not None:
            said = self._sayings.popleft()
            try:
                await self.observations.feedback(said)
            except Exception:  # noqa: BLE001 - as above
                if not self._failing:
                    _log.exception("feedback.unkept", waiting=len(self._sayings) + 1)
                self._sayings.appendleft(said)
                self._failed([])
                return
            self._failing = False

    def _failed(self, batch: Sequence[Observation]) -> None:
        self._failing = True
        self._count("failed", 1)
        room = max(self._most - len(self._waiting), 0)
        self._waiting.extendleft(reversed(batch[-room:] if room else []))
        if len(batch) > room:
            self._count("dropped", len(batch) - room)
        self._come.set()
