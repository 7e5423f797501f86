"""How a run stands that has stopped here, and what those are told who listened to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from gateway.metering.ledger import RunPutAway
from gateway.runs.cast import Cast
from gateway.runs.events import packed
from gateway.runs.live import LiveRun
from gateway.runs.terms import is_limit
from gateway.runs.wanted import Wanted
from gateway.stores.journal.records import RunState, Standing, Stored
from techniques.core.errors import (
    GatewayError,
    KeyLimited,
    RunBusy,
    RunSuspended,
    Unavailable,
    UpstreamFailed,
)
from techniques.core.events import Event

_MOST_RESUMES: Final = 20


@dataclass(slots=True)
class Here:
    """A run that is carried out here."""

    live: LiveRun
    wanted: Wanted
    cast: Cast


def ending(  # noqa: PLR0911 - one for each way to end
    here: Here, failure: GatewayError | None, answer: Sequence[Event] | None, now_ms: int
) -> tuple[Standing, GatewayError | None]:
    """Return how the run stands, and what its listeners are told.

    It has come to its *answer*, or it failed, or it was stopped.
    """
    live = here.live
    standing, stop = replace(live.standing, eta_ms=None, reason=None), live.stopping
    if answer is not None:  # a plain call is one step, which has the answer
        whole = None if live.record.technique == "none" else packed(answer)
        return replace(standing, state="completed", answer=whole), None
    if stop is None:
        failure = failure or GatewayError("The run ended without an answer.")
        again = _may_go_on(failure) and not _tried_enough(here)
        state: RunState = "interrupted" if again else "failed"
        return replace(standing, state=state, reason=failure.code), failure
    match stop.why:
        case "suspended":
            return _suspended(here, standing, stop.error, now_ms)
        case "cancelled":
            return replace(standing, state="cancelled"), stop.error
        case "stale":
            return standing, RunBusy("Another replica has taken the run over.")
        case "failed":
            reason = stop.error.code if stop.error else None
            return replace(standing, state="failed", reason=reason), stop.error
        case "left":
            error = stop.error or failure or Unavailable("The run was broken off.")
            return replace(standing, state="interrupted", reason=error.code), error


def _suspended(
    here: Here, standing: Standing, error: GatewayError | None, now_ms: int
) -> tuple[Standing, GatewayError]:
    wait_s = error.retry_after if isinstance(error, UpstreamFailed) else None
    eta_ms = None if wait_s is None else now_ms + int(wait_s * 1000)
    here.live.ledger.record(RunPutAway(here.wanted.model, here.wanted.provider))
    limit = error.message if error is not None else "A rate limit is reached."
    told = RunSuspended(
        f"{limit} The run {here.live.name} waits; send the request again to have it go on.",
        here.live.name,
        retry_after=wait_s,
    )
    return replace(standing, state="suspended", eta_ms=eta_ms, reason="rate_limit"), told


def unlike(stored: Stored) -> Standing:
    """Return how a run stands that cannot go on: what is to be done for it is not what it was.

    One of the background is tried by itself so often and no more; then it has failed.
    """
    standing, background = stored.standing, stored.record.background
    rests: RunState = "interrupted" if standing.state == "executing" else standing.state
    resumes = standing.resumes + background
    if background and resumes >= _MOST_RESUMES:
        rests = "failed"
    reason = "config_changed" if background else standing.reason
    return replace(standing, state=rests, resumes=resumes, reason=reason)


def _tried_enough(here: Here) -> bool:
    """Return whether a run of the background, which is taken up by itself, has failed too often."""
    return here.live.record.background and here.live.standing.resumes >= _MOST_RESUMES


def _may_go_on(failure: GatewayError) -> bool:
    """Return whether a run that ended with *failure* may come to an answer when asked again."""
    if isinstance(failure, UpstreamFailed):
        return failure.retryable or is_limit(failure)
    return isinstance(failure, Unavailable | KeyLimited)
