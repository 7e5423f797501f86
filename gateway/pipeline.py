"""The one way of a call from its plan to its events: each step has a module, here is the order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random  # noqa: TID251 - this is where a request's dice are seeded
from secrets import token_hex
from typing import Final

import anyio

from gateway.admission.verdict import OnLimit, Patience
from gateway.attention.tools import ToolQuotas
from gateway.channels.choices import counted, repeated
from gateway.channels.noted import noted
from gateway.channels.overheard import overheard
from gateway.channels.rescued import rescued
from gateway.channels.retrying import RetryPolicy
from gateway.channels.settled import settled
from gateway.channels.stack import Stack
from gateway.channels.timed import Deadline, within
from gateway.channels.tooled import Turn
from gateway.channels.traced import Trace, TracedChannel
from gateway.clock import loop_time
from gateway.metering import estimate
from gateway.metering.caps import RunAllowance
from gateway.metering.ledger import Ledger, Meter
from gateway.metering.meters.durable import Whose
from gateway.pacing.closing import Closing
from gateway.pacing.pacer import Pacer
from gateway.pacing.run import Run
from gateway.pacing.standing import Standing
from gateway.planning.asked import Asked as Asked
from gateway.planning.fitting import fitted
from gateway.planning.plan import Plan
from gateway.planning.planner import Planner
from gateway.planning.slims import Slims
from gateway.policy.keys import Caller
from gateway.policy.wishes import Wishes
from gateway.routing.routing import Routing
from gateway.runs.live import LiveRun
from gateway.upstream.llama_cpp.kept import Session
from techniques.core.channel import (
    Channel,
    Channels,
    EventStream,
    Technique,
    TechniqueChannel,
)
from techniques.core.registry import Card
from techniques.core.relayed import ALONE, EMBEDDING, EMBEDDINGS
from techniques.core.request import Request
from techniques.core.task import Calibration, Sandbox, Task, Uncalibrated, Unlimited
from techniques.parts.effort import harder

_MARGIN_S: Final = 0.1
_BACKGROUND_S: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What lives as long as the process.

    ``calibration`` is what was measured of the models; ``pacer`` None: nothing is held back;
    ``tools`` None: no tool has a quota.
    ``slims`` None: no conversation is shortened. ``routing`` None: no router is asked.
    """

    planner: Planner
    retry: RetryPolicy
    random: Random = field(default_factory=Random)
    sandbox: Sandbox | None = None
    calibration: Calibration = field(default_factory=Uncalibrated)
    pacer: Pacer | None = None
    tools: ToolQuotas | None = None
    slims: Slims | None = None
    routing: Routing | None = None

    def plan(self, asked: Asked) -> Plan:
        """Return what to do; see ``Planner.plan`` and ``fitted``. ``routed`` has the last word."""
        plan = self.planner.plan(asked.call, asked.caller, asked.wishes)
        if plan.card is None or plan.auto:
            return plan
        return fitted(plan, asked, asked.call.relay.decode())

    async def routed(self, asked: Asked, plan: Plan, record: Meter) -> Plan:
        """Return *plan*, where it was left to a router as that has chosen; *record* is told.

        Raises:
            GatewayError: ... see ``Routing.routed``.
        """
        if not plan.auto:
            return plan
        if self.routing is None:
            return fitted(replace(plan, auto=False), asked, asked.call.relay.decode())
        return await self.routing.routed(asked, plan, record)

    def again(self, asked: Asked, kept: str, plan: Plan) -> Plan | None:
        """Return the plan of the choice of a router that was *kept*; *plan* is that of now.

        None where it cannot be carried out any more.
        """
        return None if self.routing is None else self.routing.again(asked, kept, plan)

    def answer(
        self, asked: Asked, plan: Plan, ledger: Ledger, journal: LiveRun | None = None
    ) -> EventStream:
        """Return the events of carrying out *plan*; the facts go to *ledger*, steps to *journal*.

        Raises:
            GatewayError: It failed, on entering or later.
        """
        for warning in plan.warnings:
            ledger.record(warning)
        request = Request(
            model=plan.model.target.model,
            stream=asked.call.streamed,
            role=EMBEDDING if asked.call.dialect == EMBEDDINGS else "answer",
            strict=plan.strict,
            headers=asked.headers,
            relay=asked.call.relay,
        )
        run = self._run(asked, plan, ledger, journal)
        stack = self._stack(asked, plan, request, (ledger, run, journal))
        if plan.card is not None:
            request = _in_full(plan, request)
            technique = self._technique(asked, plan, request, stack)
            if self.slims is not None:
                who = asked.caller, asked.wishes
                fence = _fence(journal)
                technique = self.slims.around(technique, plan, who, (stack, fence))
            answer = technique.open(request)
        else:
            answer = stack.plain(plan.models).open(request)
            if stack.deadline is not None:
                answer = within(stack.deadline, answer)
        if run is not None and not run.is_free:
            answer = Closing(run, answer)
        turn = self._turn(asked, plan, ledger, journal)
        return answer if turn is None else turn.over(answer)

    def _run(self, asked: Asked, plan: Plan, ledger: Ledger, journal: LiveRun | None) -> Run | None:
        """Return what lets the sub-calls of this request through."""
        if self.pacer is None:
            return None
        caller, wishes = asked.caller, asked.wishes
        surface_s = self.pacer.surface_s(streamed=asked.call.streamed)
        patience = _patience(asked, plan, surface_s, journal)
        request_id = asked.request_id or token_hex(16)
        run = request_id
        if journal is not None:
            run = journal.name
        elif asked.call.dialect not in ALONE:  # of which no run is written down
            run = wishes.run or request_id
        said = plan.technique, wishes.session, wishes.tags
        standing = Standing(
            whose=Whose(request_id, run, caller.name, caller.team, *said),
            use=plan.technique,
            tenant=caller.name or "",
            priority=_priority(caller, wishes.priority),
            weight=caller.weight,
            came=loop_time(),
            patience=patience,
        )
        return Run(self.pacer, standing, ledger, self.pacer.purse(caller))

    def _turn(
        self, asked: Asked, plan: Plan, ledger: Ledger, journal: LiveRun | None
    ) -> Turn | None:
        """Return what counts the tool calls of the answer, None if no quota is on its tools."""
        quotas, call = self.tools, asked.call
        if quotas is None or not quotas.limit_some(call.relay.body):
            return None
        surface_s = quotas.waits.surface_s(streamed=call.streamed)
        patience = _patience(asked, plan, surface_s, journal)
        return Turn(quotas, asked.caller, ledger, patience, call.streamed)

    def _stack(
        self,
        asked: Asked,
        plan: Plan,
        request: Request,
        of: tuple[Ledger, Run | None, LiveRun | None],
    ) -> Stack:
        wishes, (ledger, run, journal) = asked.wishes, of
        capped = plan.card or wishes.max_calls is not None or wishes.max_cost_usd is not None
        retry = self.retry.less(asked.attempted, wishes.retries, asked.read_s)
        allowance = None
        if capped:
            allowance = RunAllowance(plan.caps, ledger, estimate.cost_of(request, plan.model.price))
        traced = plan.card and wishes.expose == "trace"
        trace = Trace(live=asked.call.streamed) if traced else None
        seconds = plan.deadline_s
        deadline = None if seconds is None else Deadline(anyio.current_time() + seconds, seconds)
        session = Session(asked.caller.name or "", wishes.session) if wishes.session else None
        splits = asked.call.dialect == EMBEDDINGS
        return Stack(
            retry, self.random, ledger, allowance, trace, deadline, run, journal, session, splits
        )

    def _technique(self, asked: Asked, plan: Plan, request: Request, stack: Stack) -> Channel:
        assert plan.card is not None
        first = plan.model
        primary = stack.member("0", plan.models, first)
        others = [
            stack.member(str(place), (model,), first)
            for place, model in enumerate(plan.pool[1:], 1)
        ]
        channels = Channels(
            primary,
            (primary, *others),
            stack.member("judge", (plan.judge,)) if plan.judge else None,
            stack.member("critic", (plan.critic,)) if plan.critic else None,
        )
        journal = stack.journal
        task = Task(
            request,
            plan.options,
            self._dice(request.sampling.seed, journal),
            stack.allowance or Unlimited(),
            None if stack.deadline is None else _for_calls(stack.deadline),
            choices=plan.choices,
            fence=_fence(journal),
            sandbox=self.sandbox,
            techniques=plan.techniques,
            calibration=self.calibration,
        )
        run = noted(_run(plan, plan.card, asked.wishes), plan.technique, stack.ledger.record)
        if plan.heard is not None:
            run = overheard(run, plan.heard)
        if stack.trace is not None:
            return TracedChannel(run, task, channels, stack.trace)
        return TechniqueChannel(run, task, channels)

    def _dice(self, seed: int | None, journal: LiveRun | None) -> Random:
        """Return the dice of a technique: a run that is journaled throws the same ones again."""
        if seed is not None:
            return Random(seed)
        return Random(self.random.getrandbits(64)) if journal is None else journal.dice()


def _patience(asked: Asked, plan: Plan, surface_s: float, journal: LiveRun | None) -> Patience:
    """Return how long what *asked* wants may be held, of which its surface allows *surface_s*.

    In the background nobody waits for it.
    """
    wishes = asked.wishes
    wished_s = None if wishes.max_wait_ms is None else wishes.max_wait_ms / 1000
    on_limit: OnLimit = wishes.on_limit or "hold"
    if journal is not None and journal.record.background:
        surface_s, on_limit = _BACKGROUND_S, "hold"
    return Patience(surface_s, wished_s, plan.deadline_s, asked.read_s, on_limit)


def _run(plan: Plan, card: Card, wishes: Wishes) -> Technique:
    """Return what carries *card* out, with what *plan* and *wishes* want around it."""
    run = rescued(card.run) if plan.rescue else card.run
    if plan.choices > 1:
        again = repeated(run, plan.choices) if wishes.n_policy == "repeat" else run
        run = counted(again, plan.choices)
    return run if wishes.expose == "optimistic" else settled(run)


def _in_full(plan: Plan, request: Request) -> Request:
    """Return the decoded form of *request*, which the plan has already."""
    full = plan.request or request.decoded()
    if plan.effort:
        full = replace(full, thinking=harder(full.thinking, plan.effort))
    return replace(
        full,
        model=request.model,
        stream=request.stream,
        strict=request.strict,
        headers=request.headers,
    )


def _fence(journal: LiveRun | None) -> str:
    """Return what marks off strangers' words in prompts: the same each time a run goes on."""
    return token_hex(8) if journal is None else journal.fence()


def _for_calls(deadline: Deadline) -> float:
    """Return until when a technique waits for its calls; the rest is for what it says then."""
    return deadline.at - min(_MARGIN_S, deadline.seconds / 10)


def _priority(caller: Caller, wished: int | None) -> int:
    """Return how urgent a request is: a key may be asked for less than it has, not for more."""
    if wished is None:
        return caller.priority
    return wished if caller.name is None else max(wished, caller.priority)
