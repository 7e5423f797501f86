"""Whose conversations are shortened under which plan, and by whom they are summed up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from gateway.channels.slimmed import SlimmedChannel
from gateway.channels.stack import Stack
from gateway.context.case import Case, Writer
from gateway.context.rules import Rules
from gateway.context.slimmer import Slimmer
from gateway.context.slimming import Slimming
from gateway.context.summary import ROLE
from gateway.planning.plan import Plan
from gateway.planning.prices import is_firm
from gateway.policy.keys import Caller
from gateway.policy.models import Catalogue
from gateway.policy.wishes import Wishes
from gateway.runs.live import LiveRun
from techniques.core.channel import Channel
from techniques.core.task import Unlimited

_ANSWER = 8
"""A model that does not say what it may write is left this part of its window for it."""
_MOST_ANSWER = 4
_CUT = "cut"


@dataclass(frozen=True, slots=True)
class Slims:
    """Puts what *slimmer* knows around a technique.

    What a plan without a technique sends is never touched.
    """

    slimmer: Slimmer
    catalogue: Catalogue

    def around(
        self, technique: Channel, plan: Plan, who: tuple[Caller, Wishes], by: tuple[Stack, str]
    ) -> Channel:
        """Return *technique* of *plan*, whose conversation is cut where *who* asks it has to be.

        *by* are the channels that a summary is asked for on, and the tag of its fence.
        """
        caller, wishes = who
        rules = caller.context or self.slimmer.default
        window = plan.model.target.capabilities.context
        if rules.on_wall == "off" or window is None:
            return technique
        stack, fence = by
        target = plan.model.target
        case = Case(
            rules=rules,
            whose=caller.name or "",
            model=target.name,
            provider=target.provider,
            use=plan.technique,
            window=window,
            output=min(plan.model.max_output or window // _ANSWER, window // _MOST_ANSWER),
            price=plan.model.price,
            fence=fence,
            affordable=(stack.allowance or Unlimited()).affordable,
            record=stack.ledger.record,
            pins=wishes.pin or (),
            writer=self._writer(rules, plan, caller, stack),
        )
        if stack.journal is not None:
            keep = partial(stack.journal.decide, _CUT)
            case = replace(case, recall=partial(_recalled, stack.journal, stack), keep=keep)
        return SlimmedChannel(technique, Slimming(self.slimmer, case), stack.ledger.rows)

    def _writer(self, rules: Rules, plan: Plan, caller: Caller, stack: Stack) -> Writer | None:
        """Return who writes summaries, None where nobody may: money that counts has no price."""
        model = plan.model if rules.model is None else self.catalogue.find(rules.model)
        must_be_priced = caller.budgeted or plan.caps.max_cost is not None
        if rules.on_wall != "summarise" or (must_be_priced and not is_firm(model)):
            return None
        context = model.target.capabilities.context
        return Writer(stack.member("summary", (model,)), model.price, context)


def _recalled(run: LiveRun, stack: Stack) -> str | None:
    """Return how *run* was cut; its summaries are then not asked for again, but they count."""
    cut = run.decided(_CUT)
    for step in run.skipped(ROLE) if cut is not None else ():
        if stack.allowance is not None and step.of is None:
            stack.allowance.repeat(max(step.attempts, 1), step.cost)
    return cut
