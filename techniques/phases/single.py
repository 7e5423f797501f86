"""One call, passed on as it comes; and the next model if the first does not even begin."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import replace
from typing import TypeVar

from techniques.core.channel import Channels, Member
from techniques.core.errors import CapReached, UpstreamFailed
from techniques.core.events import Event, Warned
from techniques.core.fanout import Asking
from techniques.core.reply import Reply
from techniques.core.task import Task
from techniques.parts.checks import must_keep_form
from techniques.phases.attempt import Attempt

OptionsT = TypeVar("OptionsT")


async def single(
    task: Task[OptionsT], channels: Channels, *, failover: bool = True
) -> AsyncGenerator[Event, None]:
    """Ask once and pass the answer on; with *failover*, ask the pool in turn until one begins.

    Raises:
        CapReached: The caps leave no call to make.
        UpstreamFailed: The first model's failure, when none began.
    """
    failures: list[UpstreamFailed] = []
    for place, member in enumerate(_payable(task, channels, failover=failover)):
        if failures:
            yield Warned("failover", member.id)
        request = replace(task.request, role="answer", step=f"a{place}")
        begun = False
        try:
            async with member.open(request) as events:
                async for event in events:
                    begun = True
                    yield event
        except UpstreamFailed as failure:
            if begun:
                raise
            failures.append(failure)
        else:
            return
    raise failures[0] if failures else CapReached("The caps on this request leave no call.")


async def collapsed(attempt: Attempt) -> AsyncGenerator[Event, None]:
    """Pass on a plain call, after what there is to say of why it is no more.

    Where the caller insists on a form, it is read to its end before.

    Raises:
        TechniqueFailed: It does not keep to that form.
    """
    for event in attempt.warnings():
        yield event
    if attempt.checks.strict:
        for event in attempt.committed(await _in_form(attempt)):
            yield event
        return
    async with aclosing(single(attempt.task, attempt.channels)) as events:
        async for event in events:
            yield event


async def _in_form(attempt: Attempt) -> Reply:
    request = replace(attempt.request, stream=False, role="answer", step="a0")
    (outcome,) = await attempt.ask([Asking(attempt.channels.primary, request)])
    if not isinstance(outcome, Reply):
        raise outcome
    must_keep_form(attempt.checks, outcome)
    return outcome


def _payable(task: Task[OptionsT], channels: Channels, *, failover: bool) -> Iterator[Member]:
    """Yield the models to ask in turn, as long as the caps leave another call."""
    for member in channels.pool if failover else (channels.primary,):
        if not task.allowance.affordable(1):
            return
        yield member
