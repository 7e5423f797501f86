"""The order of the channels around a provider: the one place where it is decided."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random  # noqa: TID251 - the type; the dice come from the wiring

import anyio

from gateway.channels.admitted import AdmittedChannel
from gateway.channels.capped import CappedChannel
from gateway.channels.fallback import FallbackChannel
from gateway.channels.hedged import HedgedChannel
from gateway.channels.journaled import DispatchedChannel, JournaledChannel
from gateway.channels.metered import MeteredChannel
from gateway.channels.retrying import RetryingChannel, RetryPolicy
from gateway.channels.split import SplitChannel
from gateway.channels.timed import Deadline, TimedChannel
from gateway.channels.traced import Trace, TracingChannel
from gateway.metering import estimate
from gateway.metering.caps import RunAllowance
from gateway.metering.ledger import CallRetried, Ledger
from gateway.pacing.run import Run
from gateway.policy.models import Model
from gateway.runs.live import LiveRun
from gateway.upstream.llama_cpp.kept import Session
from pricing.price import costlier
from pricing.record import record
from techniques.core.channel import Channel, Member
from techniques.core.errors import UpstreamFailed
from techniques.core.events import Warned
from techniques.core.request import Request


@record(frozen=True, slots=True)
class Stack:
    """Builds the channels of one run.

    ``allowance`` is None when the run has no caps, ``trace`` when nobody looks on, ``deadline``
    when a technique's calls have none, ``paced`` when nothing is held back, ``journal`` when the
    run is not written down, ``session`` when the caller named none. ``splits``: what is asked for
    may be too much for one call.
    """

    retry: RetryPolicy
    random: Random
    ledger: Ledger
    allowance: RunAllowance | None = None
    trace: Trace | None = None
    deadline: Deadline | None = None
    paced: Run | None = None
    journal: LiveRun | None = None
    session: Session | None = None
    splits: bool = False

    def plain(self, models: tuple[Model, ...]) -> Channel:
        """Return the channel of a call that no technique makes: all of its run is one step."""
        return self._written_down(self.to(models), "0", models[0])

    def to(self, models: tuple[Model, ...]) -> Channel:
        """Return the channel to the first of *models*, with the others to fall back on."""
        models = tuple(one for model in models for one in (model, *model.others))
        if len(models) == 1:
            return self._to_one(models[0])
        moved = partial(self._moved, models[0].target.shown)
        patient = [_named(one.target.shown, one, self._to_one(one)) for one in models]
        named = models[0].name.endswith("*")
        if self.paced is None:
            return FallbackChannel(patient, moved, named=named)
        moving = [_named(one.target.shown, one, self._to_one(one, moves=True)) for one in models]
        order = partial(self._order, models)
        return FallbackChannel(moving, moved, order, patient, named=named)

    def member(self, name: str, models: tuple[Model, ...], beside: Model | None = None) -> Member:
        """Return the first of *models* as a technique sees it, under the id *name*.

        What it costs is told by how much dearer it is than the model *beside* it, if any.
        """
        channel = self._written_down(self.to(models), name, models[0])
        if self.deadline is not None:  # over all that is tried for one answer
            channel = TimedChannel(channel, self.deadline)
        return _named(name, models[0], channel, beside)

    def _written_down(self, channel: Channel, name: str, model: Model) -> Channel:
        """Return *channel* with each call on it a step of the run, retries and all."""
        if self.journal is None:
            return channel
        return JournaledChannel(channel, self.journal, (name, model), self.allowance)

    def _to_one(self, model: Model, *, moves: bool = False) -> Channel:
        # Innermost first.
        # only what was let through is written down as sent
        sent = self._sent(model)
        # each attempt is a row of its own, with its own price
        metered = MeteredChannel(sent, model.target, model.price, self.ledger)
        channel: Channel = metered
        # an attempt that was not admitted is no row
        if self.paced is not None:
            channel = AdmittedChannel(metered, model, self.paced, moves=moves)
        # an attempt counts as a call of the run
        if self.allowance is not None:
            channel = CappedChannel(channel, self.allowance, partial(self._expected, model))
        # tries again only what has not begun
        if self.retry.retries:
            leaves = self.paced.move_after_s if self.paced is not None and moves else None
            channel = RetryingChannel(
                channel,
                self.retry,
                self.random,
                self._retried,
                leaves_after_s=leaves,
                hopeless=partial(self._is_hopeless, model),
            )
        # a spare call has its own retries
        if model.hedge_after_s is not None:
            channel = HedgedChannel(channel, after=model.hedge_after_s)
        # each part has its own retries, and its own spare
        if self.splits:
            channel = SplitChannel(channel, model.batch)
        # of two calls in a race only the winner is shown, and it is shown as who it is
        if self.trace is not None:
            channel = TracingChannel(channel, model.target.shown, self.trace)
        return channel

    def _is_hopeless(self, model: Model) -> bool:
        """Return whether *model* refuses whatever comes, and somebody waits to be told so."""
        if self.paced is None or self.paced.waits_long:
            return False
        health = model.account.health(model.target.model)
        return health.is_no_window(anyio.current_time())

    def _sent(self, model: Model) -> Channel:
        """Return the channel straight to *model*, with what is sent on it a note of the run."""
        if self.splits:  # no conversation has a seat
            return model.channel
        sent: Channel = model.seated(self.session)
        if self.journal is None:
            return sent
        if model.host is not None and self.session is not None:  # its slot may go to another
            keep = partial(model.host.on_suspended, self.session)
            self.journal.on_suspended[model.host.name] = keep
        return DispatchedChannel(sent, model, self.journal)

    def _expected(self, model: Model, request: Request) -> int:
        """Return about what *request* to *model* will cost, by what was answered in this role.

        0 if nobody wants to know.
        """
        if self.allowance is None or not self.allowance.limits_cost:
            return 0
        answers = [
            row.usage.output_tokens
            for row in self.ledger.rows
            if row.model == model.name and row.role == request.role and row.outcome == "ok"
        ]
        return estimate.cost_like(request, model.price, answers)

    async def _order(self, models: tuple[Model, ...], request: Request) -> Sequence[int]:
        """Return the order in which *models* are to be tried; a client hears of another model."""
        assert self.paced is not None
        places = await self.paced.order(models, request)
        first = models[places[0]]
        if first.name != models[0].name:
            self.ledger.record(CallRetried("rate_limited", moved=True))
            self.ledger.record(Warned("fallback", first.target.shown))
        return places

    def _retried(self, error: UpstreamFailed) -> None:
        self.ledger.record(CallRetried(error.kind))

    def _moved(self, first: str, error: UpstreamFailed, onward: Member) -> None:
        self.ledger.record(CallRetried(error.kind, moved=True))
        if onward.name != first:  # another account of the same model is nothing to warn of
            self.ledger.record(Warned("fallback", onward.id))


def _named(name: str, model: Model, channel: Channel, beside: Model | None = None) -> Member:
    target = model.target
    cost = costlier(model.price, beside.price) if beside else None
    return Member(name, target.model, channel, target.capabilities, target.shown, cost)
