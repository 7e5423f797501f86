"""One request, as far as it is paced: its patience, its place, and the sub-calls it asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from gateway.admission.names import dimension_of, is_money
from gateway.admission.need.charge import charge
from gateway.admission.need.traits import traits
from gateway.admission.need.value import SubCall
from gateway.admission.verdict import GiveBack, verdict
from gateway.clock import loop_time
from gateway.metering.ledger import CallHeld, Ledger
from gateway.pacing import errors
from gateway.pacing.asker import Asker
from gateway.pacing.asking import NO_NEED, NONE, Asking, surely
from gateway.pacing.lease import Lease
from gateway.pacing.leftovers import tell_full, tell_left
from gateway.pacing.money import most_cost
from gateway.pacing.pacer import Pacer
from gateway.pacing.purse import Purse
from gateway.pacing.standing import Standing
from gateway.pacing.wave import Wave
from gateway.policy.models import Model
from gateway.stores.ledger import (
    Answer,
    Granted,
    Settlement,
    StoreLost,
    Unknown,
    Waiting,
)
from gateway.upstream.account import is_probe
from techniques.core.request import Request

_LONG_S: Final = 3600.0
_LOOK_S: Final = 1.0
"""After which a waiting call looks for itself, should nobody have told it."""
_LOOK_AT_MONEY_S: Final = 0.05
"""The same for money that calls under way hold: nobody is told when they have ended."""


class Run:
    """Lets the sub-calls of one request through."""

    __slots__ = ("_asker", "_count", "_counted", "_ledger", "_pacer", "_purse", "_standing")

    def __init__(self, pacer: Pacer, standing: Standing, ledger: Ledger, purse: Purse) -> None:
        self._pacer = pacer
        self._standing = standing
        self._ledger = ledger
        self._purse = purse
        self._count = 0
        self._counted = False  # a sub-call takes what the request takes once
        self._asker = Asker(pacer.store, standing, purse, observes=pacer.observes)

    async def admit(self, model: Model, request: Request, *, moves: bool = False) -> Lease:
        """Return the lease of one sub-call once it may be sent.

        With *moves* one that would be held for long is given back at once.

        Raises:
            HeldBack: It would have to wait longer than it may.
            KeyLimited: Its key's own limit is reached.
            BudgetExhausted: Its key's or team's budget is used up.
            OverLimit: It alone is more than a limit lets through.
            DeadlinePassed: It could not end in time.
            UpstreamFailed: Its model is down.
            Unavailable: The store is lost, and what it is for is closed then.
        """
        is_first = await self._pacer.first(model.account)
        try:
            return await self._admitted(model, request, moves=moves)
        except BaseException:
            if is_first:  # nobody must wait for the answer to a call that is not made
                model.account.has_failed()
            raise

    async def _admitted(self, model: Model, request: Request, *, moves: bool) -> Lease:
        asking = self._asking(model, request)  # only now: by the first answer its windows are known
        try:
            self._must_end_in_time(asking)
            if self._pacer.paces and errors.must_be_up(asking, last=not moves):
                probe = {asking.account.probe(asking.model): 1}
                asking = asking._replace(needs={**asking.needs, **probe})
        except BaseException:
            self._uncount(asking)
            raise
        if asking.needs or asking.own or not self._asker.taken:
            try:
                asking = await self._let_through(asking, moves=moves)
            except BaseException:
                self._withdraw(asking)
                raise
        return self._pacer.lease(asking, self._ledger, self._standing.whose)

    async def order(self, models: Sequence[Model], request: Request) -> Sequence[int]:
        """Return the places of *models* in the order in which they are to be tried."""
        found = traits(request)
        return await self._pacer.mover.order(models, found.text_bytes // 4 + (found.stated or 0))

    @property
    def move_after_s(self) -> float:
        """How long a call is held at one model that could go to another."""
        return self._pacer.move_after_s

    @property
    def waits_long(self) -> bool:
        """Whether nobody waits for it: it may be held for hours."""
        return self._standing.patience.surface_s >= _LONG_S

    @property
    def is_free(self) -> bool:
        """Whether the request as a whole holds nothing that has to be given back."""
        return not self._purse.for_request()

    def close(self) -> None:
        """Give back what the request as a whole holds."""
        if self._asker.taken and not self.is_free:
            self._pacer.store.settle(self._purse.pool, Settlement(self._asker.request_lease))

    def _asking(self, model: Model, request: Request) -> Asking:
        pacer, target, account = self._pacer, model.target, model.account
        purse = self._purse
        self._count += 1
        lease = f"{self._standing.run}-{self._count}"
        if (
            purse.is_bottomless
            and not (pacer.paces and account.limits(target.model))
            and self._standing.patience.deadline_s is None
            and pacer.is_enough()
        ):
            return Asking(
                lease, account, target.model, target.name, None, NO_NEED, NONE, purse.pool, NONE
            )
        call = SubCall(
            target.name,
            self._standing.use,
            request.role,
            traits(request),
            not request.stream,
            model.max_output,
            loop_time(),
        )
        need = pacer.predictor.need(call)
        own = NONE
        if not purse.is_bottomless:
            money = most_cost(need, model.price, request) if model.price else 0
            own = purse.for_call(need.total, money)
            if purse.with_call and not self._counted:
                own, self._counted = {**own, **purse.with_call}, True
        needs: Mapping[str, int] = NONE
        if pacer.paces:
            needs = account.needs(target.model, charge(account.rule, need, call.traits))
        return Asking(
            lease,
            account,
            target.model,
            target.name,
            call,
            need,
            account.fitted(needs, surely(account, call)),
            purse.pool,
            own,
        )

    def _must_end_in_time(self, asking: Asking) -> None:
        deadline_s = self._standing.patience.deadline_s
        predicted_s = 0.0 if deadline_s is None else self._predicted_s(asking)
        if deadline_s is not None and self._standing.waited_s() + predicted_s > deadline_s:
            raise errors.too_late(predicted_s)

    def _predicted_s(self, asking: Asking) -> float:
        latency = self._pacer.predictor.latency(asking.call) if asking.call else None
        return 0.0 if latency is None else latency.likely(asking.need.likely)

    async def _let_through(self, asking: Asking, *, moves: bool) -> Asking:
        """Return *asking* as it was let through; what it holds may be less than it needs."""
        wave, (own, theirs) = await self._asker.ask_with_others(asking)
        began = loop_time() if isinstance(own, Waiting) or isinstance(theirs, Waiting) else None
        if wave is None and isinstance(own, Waiting) and is_money(own.binding):
            own, theirs = await self._paid_first(asking, own)
        else:
            own = await self._until_affordable(asking, own)
        if isinstance(own, Waiting):
            tell_full(self._ledger, own, self._purse.sizes())
        errors.must_be_granted(own, self._purse.renews_s)
        self._asker.taken = True
        if isinstance(theirs, Waiting):
            if is_probe(theirs.binding):  # another replica has gone to see
                raise errors.down(asking)
            asking.account.has_tightened()
            if self._pacer.observes:
                self._note(asking, theirs, (theirs.eta_ms or 0) / 1000, "observed")
                return asking._replace(needs=NONE)
            if moves:
                asking = asking._replace(leaves_at=loop_time() + self.move_after_s)
            theirs = await self._held(asking, theirs, wave)
            self._pacer.store.dispatch(asking.account.pool, (asking.lease,))
        errors.must_fit(asking, theirs)
        tell_left(self._ledger, own, theirs)
        if isinstance(theirs, Granted) and self._standing.use == "none":
            self._asker.tag = theirs.tag
        return asking if began is None else asking._replace(held_s=loop_time() - began)

    async def _paid_first(self, asking: Asking, own: Waiting) -> tuple[Answer, Answer]:
        """Wait for money without holding what others could use meanwhile, then ask for that."""
        self._asker.give_back(asking)
        paid = await self._until_affordable(asking._replace(needs=NONE), own)
        if not isinstance(paid, Granted):
            return paid, own
        self._asker.taken = True
        _, theirs = await self._asker.ask([asking._replace(own=NONE)])
        return paid, theirs

    async def _until_affordable(self, asking: Asking, own: Answer) -> Answer:
        """Wait as long as calls under way hold the money that *asking* needs."""
        try:
            while isinstance(own, Waiting) and is_money(own.binding):
                await self._hold_on(asking, own, asking.lease)
                own, _ = await self._asker.ask([asking])
        finally:
            self._ledger.holds.release(asking.lease)
        return own

    async def _held(self, asking: Asking, first: Waiting, wave: Wave | None) -> Answer:
        """Wait in line until *asking*, or the wave that it is in, is let through."""
        began, outcome = loop_time(), "left"
        line = asking.lease if wave is None else wave.entry
        answer: Answer = first
        try:
            while isinstance(answer, Waiting):
                try:
                    await self._hold_on(asking, answer, line)
                except errors.GIVEN_BACK:
                    outcome = "given_back"
                    raise
                answer = await self._looked(asking, line)
            outcome = "resumed" if isinstance(answer, Granted) else "given_back"
        finally:
            self._ledger.holds.release(asking.lease)
            self._note(asking, first, loop_time() - began, outcome)
            if wave is not None and outcome != "resumed":
                wave.leave(self._pacer.store, asking)
        if wave is not None and isinstance(answer, Granted):
            wave.granted(self._pacer.store)
        return answer

    async def _looked(self, asking: Asking, line: str) -> Answer:
        """Return how *asking* stands in line; one that was lost there stands in it anew."""
        try:
            answer = await self._pacer.store.check(asking.account.pool, line)
        except StoreLost as lost:
            raise errors.store_lost() from lost
        if isinstance(answer, Unknown):
            _, answer = await self._asker.ask([asking._replace(own=NONE)])
        return answer

    async def _hold_on(self, asking: Asking, answer: Waiting, line: str) -> None:
        """Wait until it is worth looking again.

        Raises:
            HeldBack: That would be too long.
            DeadlinePassed: It could not end in time after it.
        """
        eta_s = None if answer.eta_ms is None else answer.eta_ms / 1000
        found = verdict(
            self._standing.patience, self._standing.waited_s(), eta_s, self._predicted_s(asking)
        )
        stays_s = asking.leaves_at - loop_time()
        if stays_s <= 0 or (eta_s or 0.0) > stays_s:
            found = GiveBack("asked")
        if isinstance(found, GiveBack):
            tell_full(self._ledger, answer, asking.account.caps())
            raise errors.given_back(asking, answer, found)
        reason = dimension_of(answer.binding)
        of = asking.label, "" if reason == "usd" else asking.account.name
        self._ledger.holds.hold(asking.lease, answer.eta_ms, answer.position, reason, of=of)
        look_s = _LOOK_AT_MONEY_S if reason == "usd" else _LOOK_S
        wait_s = min(look_s if eta_s is None else eta_s, look_s, found.longest_s, stays_s)
        await self._pacer.store.wait(asking.account.pool, line, wait_s)

    def _note(self, asking: Asking, answer: Waiting, seconds: float, outcome: str) -> None:
        reason = dimension_of(answer.binding)
        account = asking.account.name
        self._ledger.record(CallHeld(asking.label, account, reason, seconds, outcome))

    def _withdraw(self, asking: Asking) -> None:
        """Give back what was granted, and leave the line."""
        asking.account.health(asking.model).withdraw()
        self._asker.give_back(asking)
        if asking.own:
            self._uncount(asking)
            self._pacer.store.cancel(asking.purse, asking.lease)

    def _uncount(self, asking: Asking) -> None:
        """Have another sub-call take what the request takes, if it is *asking* that did."""
        if not asking.own.keys().isdisjoint(self._purse.with_call):
            self._counted = False
