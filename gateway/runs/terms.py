"""How a run is carried out and why it stops, and the failures of its steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, NamedTuple, TypeAlias

from gateway.runs.questions import Questions
from gateway.stores.journal.memory import wall_ms
from gateway.stores.journal.records import JournalLost, RunRecord, StepRecord
from gateway.stores.journal.seal import JournalSealed
from pricing.record import record
from techniques.core.errors import (
    GatewayError,
    HeldBack,
    RunConflict,
    Unavailable,
    UpstreamFailed,
)

Ambiguous: TypeAlias = Literal["retry", "ask", "fail"]
Why: TypeAlias = Literal["suspended", "left", "cancelled", "failed", "stale"]


@record(frozen=True, slots=True)
class Terms:
    """How a run is carried out.

    Attributes:
        ambiguous: What is done about a step of which nobody knows what came of it.
        linger_s: How long calls under way may go on when the run stops.
        continues: Whether an answer that broke off is gone on with where its model can.
        clock: The milliseconds of the epoch.
        questions: How somebody is asked where it is for them to say; None: nobody is.
    """

    ambiguous: Ambiguous = "retry"
    linger_s: float = 30.0
    continues: bool = False
    clock: Callable[[], int] = wall_ms
    questions: Questions | None = None


class Sending(NamedTuple):
    """Whom a call goes to: the operator's names, and what clients call it."""

    model: str
    provider: str
    shown: str


@record(frozen=True, slots=True)
class Stop:
    """Why a run stops before its end: *error* is told, and the rest is how it then stands."""

    why: Why
    error: GatewayError | None = None


def error_of(step: StepRecord) -> GatewayError:
    """Return the failure of a settled step, as the technique was told of it."""
    kind, code, message = step.error or ("server", "upstream_failed", "The call failed.")
    failed = UpstreamFailed(message, kind, retryable=False)  # type: ignore[arg-type]
    failed.code = code
    return failed


def kind_of(error: GatewayError) -> tuple[str, str, str]:
    """Return what is kept of the failure of a step."""
    kind = error.kind if isinstance(error, UpstreamFailed) else "server"
    return kind, error.code, error.message[:500]


def is_limit(error: GatewayError) -> bool:
    """Return whether *error* is a limit at which a run is put away."""
    return isinstance(error, HeldBack) and error.code == HeldBack.default_code


def diverged(path: str) -> RunConflict:
    """Return what is told of a run that does not ask as it did."""
    return RunConflict(
        f"The run asks otherwise than its journal says, at {path}: what carries "
        "it out has changed.",
        code="journal_divergence",
    )


def lost_of(lost: JournalLost) -> Unavailable:
    """Return what is told of a journal that does not answer, or that is encrypted otherwise."""
    if isinstance(lost, JournalSealed):
        return Unavailable(str(lost), code="journal_sealed")
    return Unavailable("The journal of runs does not answer.", code="journal_lost")


def must_be_same(record: RunRecord, body: str) -> None:
    """See that a run is about what is asked, by the hash of its *body*.

    Raises:
        RunConflict: It is about something else.
    """
    if record.body != body:
        raise RunConflict(
            f"The run {record.name.run} was begun with another request.", code="run_mismatch"
        )


def cancelled(run: str) -> RunConflict:
    """Return what is told of a run that was ended for good."""
    return RunConflict(_OVER.format(run), code="run_cancelled")


_OVER: Final = 'The run {} was cancelled; its /resume with {{"force": true}} has it go on.'
