"""What one request did: the facts that usage, cost, metrics and log lines are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from gateway.admission.left import Left
from gateway.metering.facts import Agreed, MoneyMet, RouterAsked
from gateway.metering.facts import RunPutAway as RunPutAway
from gateway.metering.facts import RunResumed as RunResumed
from gateway.metering.facts import StepAmbiguous as StepAmbiguous
from gateway.metering.facts import StepReplayed as StepReplayed
from gateway.metering.heard import Answering, Heard
from gateway.metering.holds import Holds
from gateway.metering.routed import Routed
from gateway.metering.trace import Trace
from gateway.metering.weighed import Weighed
from pricing.cost import dollars
from pricing.record import record
from pricing.source import CostSource, worst
from pricing.usage import Usage
from techniques.core.events import Warned


class CallFinished(NamedTuple):
    """One sub-call, however it ended: a row of the bill.

    ``outcome`` is ``ok``, ``truncated``, ``client_disconnect``, ``cancelled`` or the kind of
    failure. ``estimated`` means that the provider counted no tokens and they were guessed,
    ``reasoning_estimated`` that it did not tell how many of them were reasoning. ``cost`` is
    picodollars, None if the price is not known. ``started_at`` is seconds since the epoch,
    ``seconds`` and ``first_s`` (to the first content, None if none came) are durations. ``lease``
    names the row for ever, where the money for it was held; else its request and place do. It was
    ``held_s`` seconds at a rate limit before it was sent; ``span`` names it in a trace.
    ``output_cost`` is the part of ``cost`` that is for what was written, None if nobody knows.
    ``price`` names the row of the price book that the cost was worked out with, None if the price
    is not known; ``caveats`` say what of the call it does not fit (``pricing.charge``).
    """

    model: str
    provider: str
    role: str
    step: str
    usage: Usage
    estimated: bool
    cost: int | None
    cost_source: CostSource
    outcome: str
    started_at: float
    seconds: float
    first_s: float | None
    reasoning_estimated: bool = False
    lease: str | None = None
    price: str | None = None
    caveats: tuple[str, ...] = ()
    held_s: float = 0.0
    span: str | None = None
    output_cost: int | None = None


@dataclass(frozen=True, slots=True)
class CallRetried:
    """A failed sub-call is made again, or with ``moved`` another model is tried."""

    kind: str
    moved: bool = False


@dataclass(frozen=True, slots=True)
class CallHeld:
    """A sub-call was held before its account's limit would have refused it.

    ``reason`` is what the full window counts. ``outcome`` is ``resumed``, ``given_back`` (it could
    not wait so long), ``left`` (nobody wants it any more) or ``observed`` (it would have been).
    """

    model: str
    provider: str
    reason: str
    seconds: float
    outcome: str


@dataclass(frozen=True, slots=True)
class LimitHit:
    """An account refused a sub-call with 429 all the same.

    ``expected``: it was sent although the windows were full or unknown; else the ledger had room.
    """

    model: str
    provider: str
    expected: bool


@record(frozen=True, slots=True)
class NeedMet:
    """How many tokens were held for a sub-call, and how many it used; ``missed``: it wrote more."""

    model: str
    held: int
    used: int
    missed: bool


ToolOutcome: TypeAlias = Literal["counted", "over", "refused", "unknown"]


class ToolCalled(NamedTuple):
    """A model's answer calls a tool that has a quota.

    ``outcome``: it is ``counted`` and leaves ``left`` uses, the quota is used up and the call is in
    the answer (``over``) or not (``refused``), or nobody could tell (``unknown``). ``wait_ms`` is
    the time until it could have been made.
    """

    tool: str
    outcome: ToolOutcome
    left: int
    wait_ms: int


@dataclass(frozen=True, slots=True)
class HeaderUnread:
    """An account sent a header about its limits that could not be read; its name is a known one."""

    provider: str
    header: str


@dataclass(frozen=True, slots=True)
class ContextSlimmed:
    """A conversation was sent shorter than it came, ``after`` instead of ``before`` tokens.

    ``fresh``: it was cut anew; else as it was in an earlier turn.
    """

    model: str
    provider: str
    method: str
    before: int
    after: int
    fresh: bool


@dataclass(frozen=True, slots=True)
class SummaryTried:
    """A summary of a conversation was thought of.

    ``outcome``: ``used``, ``not_worth`` (none was asked for), ``failed`` (none came), or why what
    came was not used: ``empty``, ``cut_off``, ``pins_lost``, ``longer``.
    """

    model: str
    provider: str
    outcome: str


@record(frozen=True, slots=True)
class RequestBegun:
    """A client request has come; a ``RequestFinished`` follows."""

    dialect: str


Route: TypeAlias = Literal["default", "asked", "model_slug", "auto"]
"""Who chose the technique: the configuration, the call, the model's name in it, the router."""


class RequestFinished(NamedTuple):
    """One client request, however it ended; exactly one a request.

    ``outcome``: ``success``, ``client_disconnect``, ``truncated`` (an answer that broke after it
    had begun), ``rejected``, ``denied``, ``deadline``, ``unavailable``, ``held_back`` (at a rate
    limit, for longer than it may), ``upstream_error``, ``technique_error`` or ``internal_error``.
    ``begun_s`` is the time to the first content.
    ``cancel_s`` is how long it took to close everything after the client had left. ``code`` is our
    name of what went wrong, None where nothing did. ``model`` is a configured name, or empty.
    ``route`` is who chose the technique, and ``routed`` what a router chose. ``trace`` is where
    the request stands in a trace, None if none is kept.
    """

    request_id: str
    run: str
    session: str | None
    tags: str | None
    key: str | None
    dialect: str
    model: str
    provider: str
    technique: str
    streamed: bool
    outcome: str
    status: int
    rows: Sequence[CallFinished]
    warnings: Sequence[Warned]
    seconds: float
    begun_s: float | None
    decode_s: float
    plan_s: float
    cancel_s: float | None
    code: str | None = None
    team: str | None = None
    route: Route = "default"
    trace: Trace | None = None
    routed: Routed | None = None


Fact: TypeAlias = (
    CallFinished
    | CallRetried
    | CallHeld
    | LimitHit
    | NeedMet
    | HeaderUnread
    | ToolCalled
    | ContextSlimmed
    | SummaryTried
    | Warned
    | StepReplayed
    | StepAmbiguous
    | RunPutAway
    | RunResumed
    | Agreed
    | MoneyMet
    | RouterAsked
    | RequestBegun
    | RequestFinished
)
Meter: TypeAlias = Callable[[Fact], None]


@dataclass(slots=True)
class Ledger:
    """Collects a request's facts and hands each to the meters.

    ``client_left`` is set before the client's leaving cancels what runs: the rows tell it from
    other ends. ``answering`` is the model of the last sub-call that began to answer as ``answer``.
    ``heard`` is what its provider told at the head of the last answer to such a call.
    ``holds`` are its pauses, ``left`` what was left when the last one was let through, by what is
    counted, ``of_key`` that of its key's own limits, ``full`` what one that was not let through
    would have waited for; ``tools`` are the answer's calls of tools with quotas. ``weighed`` is
    what answers came to, by their step of the run; ``replayed`` calls, that had cost ``saved``,
    are no rows.
    """

    meters: tuple[Meter, ...] = ()
    rows: list[CallFinished] = field(default_factory=list)
    warnings: list[Warned] = field(default_factory=list)
    client_left: bool = False
    answering: Answering | None = None
    holds: Holds = field(default_factory=Holds)
    left: dict[str, Left] = field(default_factory=dict)
    of_key: dict[str, Left] = field(default_factory=dict)
    full: dict[str, Left] = field(default_factory=dict)
    heard: Heard | None = None
    tools: list[ToolCalled] = field(default_factory=list)
    trace: Trace | None = None
    weighed: dict[str, Weighed] = field(default_factory=dict)
    replayed: int = 0
    saved: int = 0

    def record(self, fact: Fact) -> None:
        """Keep *fact* and tell the meters."""
        if isinstance(fact, CallFinished):
            self.rows.append(fact)
        elif isinstance(fact, Warned):
            if fact in self.warnings:
                return
            self.warnings.append(fact)
        elif isinstance(fact, ToolCalled):
            self.tools.append(fact)
        elif isinstance(fact, StepReplayed):
            self.replayed, self.saved = self.replayed + 1, self.saved + fact.saved
        for meter in self.meters:
            meter(fact)

    def usage(self) -> Usage:
        """Return the tokens of all sub-calls that have ended."""
        return sum((row.usage for row in self.rows), Usage())

    def cost(self) -> int | None:
        """Return the picodollars of all sub-calls that have ended, None if one is not known."""
        total = 0
        for row in self.rows:
            if row.cost is None:
                return None
            total += row.cost
        return total

    def cost_usd(self) -> str | None:
        """Return ``cost()`` as a decimal number of dollars."""
        cost = self.cost()
        return None if cost is None else dollars(cost)

    def cost_source(self) -> CostSource:
        """Return the worst source among the rows: it holds for their sum."""
        return worst([row.cost_source for row in self.rows])
